"""What is made of documents when nobody waits: their links, and one of two that say the same."""
