"""Embedders that run elsewhere: Ollama, and whatever speaks OpenAI's `/embeddings`."""
