"""From what people write to what a server gets: base URLs, and the prefixes of models."""

from __future__ import annotations

import pytest

from ringwood.embed.remote.address import base_url
from ringwood.embed.remote.prefixes import NONE, prefixes_of


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("gpu", "http://gpu:11434"),
        (":9999", "http://127.0.0.1:9999"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        ("[::]:8080", "http://[::1]:8080"),
        ("http://gpu.example:11434/", "http://gpu.example:11434"),
        ("https://ollama.example", "https://ollama.example"),
        (" http://gpu/ollama/ ", "http://gpu:11434/ollama"),
    ],
)
def test_what_ollama_listens_on_is_where_it_is_found(written: str, url: str) -> None:
    assert base_url(written, setting="embed.ollama_url", port=11434) == url


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_the_base_of_an_api_is_kept_as_it_is(written: str, url: str) -> None:
    assert base_url(written, setting="embed.openai_url") == url


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        ("nomic-embed-text", "nomic"),
        ("nomic-embed-text:v1.5", "nomic"),
        ("nomic-ai/nomic-embed-text-v2-moe", "nomic"),
        ("nomic-embed-code", "nomic-code"),
        ("intfloat/multilingual-e5-small", "e5"),
        ("jeffh/intfloat-multilingual-e5-large:f16", "e5"),
        ("intfloat/multilingual-e5-large-instruct", "e5-instruct"),
        ("bge-large", "bge-en"),
        ("BAAI/bge-small-en-v1.5", "bge-en"),
        ("BAAI/bge-base-zh-v1.5", "bge-zh"),
        ("bge-m3", "none"),
        ("mxbai-embed-large:335m", "mxbai"),
        ("snowflake-arctic-embed:110m", "arctic"),
        ("snowflake-arctic-embed2", "arctic-2"),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "arctic-2"),
        ("qwen3-embedding:0.6b", "qwen3"),
        ("Qwen/Qwen3-Embedding-8B", "qwen3"),
        ("embeddinggemma", "gemma"),
        ("google/embeddinggemma-300m", "gemma"),
        ("jina-embeddings-v5-text-nano", "jina-5"),
        ("jina-embeddings-v4", "jina-4"),
        ("jina/jina-embeddings-v2-base-en", "none"),
        ("text-embedding-3-large", "none"),
        ("granite-embedding:278m", "none"),
        ("all-minilm", "none"),
        ("some5model", "none"),
    ],
)
def test_a_family_is_known_by_the_names_it_is_served_under(model: str, rule: str) -> None:
    assert prefixes_of(model).rule == rule


def test_a_persons_own_prefixes_replace_the_tables_one_by_one() -> None:
    table = prefixes_of("multilingual-e5-small")
    own = prefixes_of("multilingual-e5-small", query="frage: ")

    assert (own.query, own.passage) == ("frage: ", table.passage)
    assert own.rule not in (table.rule, NONE.rule)
    assert prefixes_of("multilingual-e5-small", query="query: ") == table
    assert prefixes_of("bge-m3", query="", passage="") == NONE
