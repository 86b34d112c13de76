"""Text to a tree of nodes. Pure: no file, no database, no model, no clock.

`blocks` reads CommonMark, `frontmatter` what stands before it, `outline` finds numbered sections,
`leaves` strips markers and cuts, `paths` names, and `tree` puts them together: start there.
"""
