"""`python -m ringwood`: the command, where its script is not on the path."""

from ringwood.serve.cli import main

main()
