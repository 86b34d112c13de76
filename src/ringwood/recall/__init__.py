"""Query -> the nodes worth the budget, each with its reasons. One file per term of the score."""
