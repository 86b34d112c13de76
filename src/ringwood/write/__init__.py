"""Document -> searchable memory: ingest, identity, embedding, links, mirror, forgetting."""
