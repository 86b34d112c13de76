"""Documents, nodes, words, vectors and edges at rest, and the two rankings.

`base` says what writing and recalling need of a database, in terms that know no SQL. Behind that
seam stands one folder per database: `sqlite` is the embedded default.
"""
