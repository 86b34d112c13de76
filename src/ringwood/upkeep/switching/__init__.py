"""Going over to another embedder while recall goes on."""
