"""What a model wants to read before a question and before a text, by the model's name.

A server adds none of it. A model that was trained with prefixes and gets none finds less, and says
nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prefixes:
    """How one family of models tells questions from texts."""

    rule: str
    """Name of the rule, part of the identity: another rule makes other vectors."""
    query: str = ""
    """Goes before a question."""
    passage: str = ""
    """Goes before a text that is to be found."""


NONE = Prefixes("none")
"""Questions and texts alike: OpenAI's models, bge-m3, granite, all-minilm, gte, potion."""

# From the model cards of the families, as far as they speak of retrieval. The first pattern that is
# found in the name counts, so the special stands before the general.
_TASK = "Given a web search query, retrieve relevant passages that answer the query"
_CODE = "Represent this query for searching relevant code: "
_BGE = "Represent this sentence for searching relevant passages: "
_TABLE: tuple[tuple[str, Prefixes], ...] = (
    # intfloat/multilingual-e5-large-instruct: only the question is told its task.
    (r"e5.*instruct", Prefixes("e5-instruct", f"Instruct: {_TASK}\nQuery: ")),
    # intfloat/e5-*, intfloat/multilingual-e5-*
    (r"(?<![a-z0-9])e5(?![a-z0-9])", Prefixes("e5", "query: ", "passage: ")),
    # nomic-ai/nomic-embed-code, for code, before its sister for text
    (r"nomic-embed-code", Prefixes("nomic-code", _CODE)),
    # nomic-ai/nomic-embed-text-v1, v1.5, v2-moe; nomic-ai/modernbert-embed-base follows it
    (r"nomic-embed|modernbert-embed", Prefixes("nomic", "search_query: ", "search_document: ")),
    # BAAI/bge-{small,base,large}-zh*
    (r"bge-(?:small|base|large)-zh", Prefixes("bge-zh", "为这个句子生成表示以用于检索相关文章：")),
    # BAAI/bge-{small,base,large}-en*; Ollama's bge-large is the English one
    (r"bge-(?:small|base|large)", Prefixes("bge-en", _BGE)),
    # mixedbread-ai/mxbai-embed-large-v1 asks in the same words
    (r"mxbai-embed", Prefixes("mxbai", _BGE)),
    # Snowflake/snowflake-arctic-embed-*-v2.0, then the versions before it
    (r"arctic-embed.*(?:v2|2\.0)|arctic-embed2", Prefixes("arctic-2", "query: ")),
    (r"arctic-embed", Prefixes("arctic", _BGE)),
    # Qwen/Qwen3-Embedding-*; microsoft/harrier-oss-* takes its question the same way
    (r"qwen3-embedding|harrier", Prefixes("qwen3", f"Instruct: {_TASK}\nQuery:")),
    # google/embeddinggemma-300m
    (
        r"embeddinggemma|embedding-gemma",
        Prefixes("gemma", "task: search result | query: ", "title: none | text: "),
    ),
    # jinaai/jina-embeddings-v5-text-*, then v4; v2 wants nothing, v3 takes a task beside the text
    (r"jina-embeddings-v5", Prefixes("jina-5", "Query: ", "Document: ")),
    (r"jina-embeddings-v4", Prefixes("jina-4", "Query: ", "Passage: ")),
)


def prefixes_of(model: str, *, query: str | None = None, passage: str | None = None) -> Prefixes:
    """Return what a model wants; models that nobody here knows want nothing.

    Args:
        model: as the server calls it: `nomic-embed-text:latest`, `BAAI/bge-small-en-v1.5`.
        query: a person's own prefix of questions, instead of the table's.
        passage: a person's own prefix of texts.
    """
    name = model.casefold().replace("_", "-")
    found = next((each for pattern, each in _TABLE if re.search(pattern, name)), NONE)
    if query is None and passage is None:
        return found
    own_query = found.query if query is None else query
    own_passage = found.passage if passage is None else passage
    if (own_query, own_passage) == (found.query, found.passage):
        return found
    return Prefixes(f"own({own_query!r},{own_passage!r})", own_query, own_passage)
