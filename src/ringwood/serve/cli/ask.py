"""Commands that ask: recall, explain."""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ringwood.recall.frame import render
from ringwood.recall.report import to_json
from ringwood.serve.cli import output
from ringwood.serve.cli.app import DUE_S, Session, options
from ringwood.serve.cli.keep import Moment
from ringwood.text.sentences import clip

if TYPE_CHECKING:
    from ringwood.types import Recall, Signals

DROPPED_SHOWN = 12
"""Dropped candidates that `--why` prints; `--json` has them all."""

QUERY_SHOWN = 70
"""Characters of a question in a list."""


@click.command("recall")
@click.argument("query", nargs=-1, required=True, metavar="QUERY")
@click.option("--k", type=click.IntRange(1), metavar="N", help="At most this many hits.  [6]")
@click.option("--max-chars", type=click.IntRange(1), metavar="N", help="Characters in all.  [4000]")
@click.option("--max-node-chars", type=click.IntRange(1), metavar="N", help="Of one hit.  [900]")
@click.option(
    "--floor", type=click.FloatRange(0.0, 1.0), metavar="F", help="Evidence a hit needs.  [0.35]"
)
@click.option(
    "--as-of", type=Moment(), metavar="ISO", help="What was there at that time, as it was."
)
@click.option("--why", is_flag=True, help="Every term of every score, and what was dropped.")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "json", "frame"]),
    default="text",
    metavar="F",
    help="text, json, or frame: the block that a prompt gets.",
)
@options
@click.pass_obj
def recall_command(session: Session, /, query: tuple[str, ...], **given: Any) -> int:
    """Find what was kept, with reasons. Ends with 1 when nothing has enough evidence."""
    session.wait_s = DUE_S
    with session.memory() as memory:
        bounds = {"max_nodes": given["k"]} | {
            name: given[name] for name in ("max_chars", "max_node_chars")
        }
        budget = replace(
            memory.config.budget, **{name: value for name, value in bounds.items() if value}
        )
        answer = memory.recall(
            " ".join(query),
            budget=budget,
            floor=given["floor"],
            as_of=given["as_of"],
            counted=not given["why"],
        )
        if session.json or given["shape"] == "json":
            output.json_object(to_json(answer, why=given["why"]))
        elif given["shape"] == "frame":
            if answer.hits:
                output.answer(render(answer.hits, secrets.token_hex(8)))
        else:
            _print(session, answer, why=given["why"])
    return 0 if answer.hits else 1


@click.command("explain")
@click.argument("recall_id", required=False)
@options
@click.pass_obj
def explain_command(session: Session, /, recall_id: str | None) -> int:
    """Say why an earlier recall answered as it did; without RECALL_ID, list the latest."""
    session.wait_s = DUE_S
    with session.memory() as memory:
        if recall_id is None:
            return _list(session, memory.recent_recalls())
        logged = memory.explain(recall_id)
    if session.json:
        output.json_object(logged)
        return 0
    output.answer(f"{logged['query']!r} in space {logged['space']}")
    for number, hit in enumerate(logged["hits"], start=1):
        output.answer(f"{number}. {hit['score']:.3f}  {hit['address']}")
        output.answer(_indent(_sum([(each["name"], each["value"]) for each in hit["terms"]])))
    for each in logged["dropped"]:
        output.answer(f"-  {each['score']:.3f}  {each['path']}  {each['stage']}: {each['reason']}")
    for note in logged["notes"]:
        output.answer(f"note: {note}")
    return 0


def _list(session: Session, logs: list[dict[str, Any]]) -> int:
    """Write the latest recalls, injected ones among them, each with what it may be asked by."""
    if session.json:
        listed = [
            {"recall_id": log["recall_id"], "query": log["query"], "hits": len(log["hits"])}
            for log in logs
        ]
        output.json_object({"recalls": listed})
    for log in [] if session.json else logs:
        hits = output.counted(len(log["hits"]), "hit")
        output.answer(f"{log['recall_id']}  {hits}  {clip(log['query'], QUERY_SHOWN)}")
    if not logs:
        session.say("Nothing was recalled in this space yet.")
    return 0 if logs else 1


def _print(session: Session, answer: Recall, *, why: bool) -> None:
    """Write hits for a person."""
    session.say(f"space {answer.space}, recall {answer.recall_id}")
    for note in answer.notes:
        session.say(f"note: {note}")
    for number, hit in enumerate(answer.hits, start=1):
        titles = f"{hit.title_path} › {hit.title}" if hit.title_path else hit.title
        output.answer(f"{number}. {hit.address}  {hit.score:.3f}")
        output.answer(_indent(f"{titles}  ({hit.created_at:%Y-%m-%d}, {hit.actor}, {hit.tier})"))
        output.answer(_indent(hit.text))
        if why:
            output.answer(_indent(_sum([(term.name, term.value) for term in hit.terms])))
            output.answer(_indent(_signals(hit.signals, hit.via_address)))
        output.answer("")
    if not answer.hits:
        output.answer("Nothing in memory has enough evidence for this.")
        session.say("--why shows what came near; a --floor under 0.35 asks for less evidence")
    if why and answer.dropped:
        output.answer(f"Dropped ({len(answer.dropped)}):")
        for each in answer.dropped[:DROPPED_SHOWN]:
            output.answer(f"  {each.score:.3f}  {each.path}  {each.stage}: {each.reason}")
        if len(answer.dropped) > DROPPED_SHOWN:
            output.answer(f"  ... {len(answer.dropped) - DROPPED_SHOWN} more with --json")


def _sum(terms: list[tuple[str, float]]) -> str:
    total = sum(value for _, value in terms)
    return " + ".join(f"{name} {value:.4f}" for name, value in terms) + f" = {total:.4f}"


def _signals(signals: Signals, via: str | None) -> str:
    cosine = "none" if signals.cosine is None else f"{signals.cosine:.3f}"
    hop = "" if signals.hop == "direct" else f", {signals.hop} of {via}"
    return (
        f"cosine {cosine}, lexical {signals.lexical:.3f}, rrf {signals.rrf:.3f},"
        f" evidence {signals.evidence:.3f}, tier x{signals.tier_weight:.2f}{hop}"
    )


def _indent(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.splitlines())
