"""Commands that look: show, tree, recent, stats, spaces, config."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from ringwood import config, home
from ringwood.recall.browse import split_address
from ringwood.recall.report import stamp
from ringwood.serve.cli import output
from ringwood.serve.cli.app import Session, options
from ringwood.serve.cli.keep import Moment
from ringwood.text.redact import redact
from ringwood.types import Node, address_of

if TYPE_CHECKING:
    from ringwood.memory import Stats
    from ringwood.recall.browse import NodeView

_STATES = {
    "pending": ": found by words, vectors follow",
    "failed": ": found by words, vectors will be tried again",
}
"""What the state of a document means to the person who waits for it."""


@click.command("show")
@click.argument("address")
@options
@click.pass_obj
def show_command(session: Session, /, address: str) -> int:
    """Show what lies at an address: its exact text, what is above, below and beside it."""
    with session.memory() as memory:
        view = memory.read(address)
    _, path = split_address(address, view.document.space)
    if path != view.node.path:
        session.say(f"{path} went to {view.node.path}")
    if session.json:
        output.json_object(_view_json(view))
        return 0
    space = view.document.space
    output.answer(f"{address_of(space, view.node.path)}  ({view.node.kind})")
    if view.parent is not None:
        output.answer(f"in {address_of(space, view.parent.path)}")
    output.answer("")
    output.answer(view.source.rstrip("\n"))
    for title, nodes in (
        ("Below", view.children),
        ("Near", [node for node, _ in view.neighbours]),
        ("Links to", view.links_out),
        ("Linked from", view.links_in),
    ):
        if nodes:
            output.answer(f"\n{title}:")
            for node in nodes:
                output.answer(f"  {address_of(space, node.path)}  {node.title}")
    return 0


@click.command("tree")
@click.argument("address", required=False)
@click.option("--depth", type=click.IntRange(1), default=2, metavar="N", help="Levels.  [2]")
@options
@click.pass_obj
def tree_command(session: Session, /, address: str | None, depth: int) -> int:
    """List documents and what is in them, in reading order."""
    with session.memory() as memory:
        lines = memory.tree(address, depth=depth)
        space = memory.space
    if session.json:
        nodes = [
            {
                "depth": line.depth,
                "address": address_of(line.space, line.node.path),
                **_node_json(line.node),
            }
            for line in lines
        ]
        output.json_object({"space": space, "nodes": nodes})
        return 0
    for line in lines:
        name = line.node.path if line.depth == 0 else line.node.path.rsplit("/", 1)[1]
        output.answer(f"{'  ' * line.depth}{name}  {line.node.title}")
    if not lines:
        session.say(f"Space {space} holds nothing yet.")
    return 0


@click.command("recent")
@click.option("--since", type=Moment(), metavar="ISO", help="Only what was written since then.")
@click.option(
    "--limit", type=click.IntRange(1), default=20, metavar="N", help="Documents at most.  [20]"
)
@options
@click.pass_obj
def recent_command(session: Session, /, since: datetime | None, limit: int) -> int:
    """List the newest documents of the space and of `global`."""
    with session.memory() as memory:
        documents = memory.recent(since=since, limit=limit)
        space = memory.space
    if session.json:
        listed = [
            {
                "document": str(each.id),
                "address": address_of(each.space, each.path),
                "title": each.title,
                "actor": each.actor,
                "source": each.source,
                "state": each.state,
                "tier": each.tier,
                "created_at": stamp(each.created_at),
                "stored_at": stamp(each.stored_at),
            }
            for each in documents
        ]
        output.json_object({"space": space, "documents": listed})
        return 0
    for each in documents:
        output.answer(
            f"{each.created_at:%Y-%m-%d}  {address_of(each.space, each.path)}  {each.title}"
        )
    if not documents:
        session.say(f"Nothing in space {space} or in global" + (" since then." if since else "."))
    return 0


@click.command("stats")
@options
@click.pass_obj
def stats_command(session: Session, /) -> int:
    """Count what the home holds, per tier, and say what is degraded."""
    with session.memory() as memory:
        stats = memory.stats()
    described = _stats_json(stats)
    if session.json:
        output.json_object(described)
        return 0
    output.answer(f"home      {stats.home}")
    output.answer(f"space     {stats.space}")
    output.answer(f"embedder  {stats.embedder}" + (f"  {stats.identity}" if stats.identity else ""))
    counts = ("documents", "nodes", "vectors", "edges")
    output.answer("  ".join(f"{name} {described[name]}" for name in counts))
    for tier, held in described["tiers"].items():
        line = "  ".join(f"{name} {held[name]}" for name in counts)
        output.answer(f"  {tier:<5} {line}  {held['bytes'] / 1e6:.1f} MB")
    for tier in described["missing_tiers"]:
        output.answer(f"  {tier:<5} cannot be opened: what it holds is not searched")
    waiting = {state: n for state, n in described["states"].items() if n and state != "ready"}
    for state, number in waiting.items():
        output.answer(f"{state:<9} {output.counted(number, 'document')}{_STATES.get(state, '')}")
    capture = described["capture"]
    if capture["waiting"] or capture["set_aside"] or capture["paused"]:
        paused = ", paused: ringwood resume" if capture["paused"] else ""
        output.answer(f"capture   {output.counted(capture['waiting'], 'event')} waiting{paused}")
    for each in capture["set_aside"]:
        output.answer(f"  set aside: {each['file']}, {each['reason']}")
    for line in _upkeep_lines(stats):
        output.answer(line)
    told = {each.error for each in stats.failing}
    for note in dict.fromkeys((*described["notes"], *described["errors"])):
        if note not in told:
            output.answer(f"note: {note}")
    return 0


def _upkeep_lines(stats: Stats) -> Iterator[str]:
    """Say what failed while nobody looked, and what is done by the clock."""
    if stats.unmirrored:
        yield f"mirror    {output.counted(stats.unmirrored, 'file')} to come"
    for each in stats.failing:
        times = f", {each.failures} times in a row" if each.failures > 1 else ""
        of = f" ({each.items})" if each.items > 1 else ""
        yield f"failing   {each.work}{of}: {each.error}"
        yield f"          last {_minute(each.at)}{times}, tried again {_minute(each.next_at)}"
    if stats.rotation is not None and not stats.rotation.failures:
        last, due = _minute(stats.rotation.at), _minute(stats.rotation.next_at)
        yield f"rotation  last {last}, due {due}"
    if stats.clock_doubted_at is not None:
        yield f"clock     doubted at {_minute(stats.clock_doubted_at)}: nothing moves by it for now"
    for name, process in stats.holders.items():
        yield f"at work   {name}: process {process}"


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


@click.command("spaces")
@options
@click.pass_obj
def spaces_command(session: Session, /) -> int:
    """List the spaces of the home and how many documents each holds."""
    with session.memory() as memory:
        spaces = memory.spaces()
        here = memory.space
    if session.json:
        listed = [{"name": name, "documents": number} for name, number in spaces.items()]
        output.json_object({"space": here, "spaces": listed})
        return 0
    for name, number in spaces.items():
        output.answer(
            f"{'*' if name == here else ' '} {name}  {output.counted(number, 'document')}"
        )
    return 0


@click.command("config")
@click.argument("key", required=False)
@click.argument("value", required=False)
@options
@click.pass_obj
def config_command(session: Session, /, key: str | None, value: str | None) -> int:
    """Show settings and where they come from; with a value, change one."""
    place = home.locate(session.home)
    if key is not None and value is not None:
        home.create_home(place)
        config.set_value(place, key, value)
    found = config.settings(place) if key is None else [config.setting(place, key)]
    if session.json:
        listed = [
            {"key": each.key, "value": _shown(each.value), "origin": each.origin} for each in found
        ]
        output.json_object({"settings": listed})
        return 0
    for each in found:
        value = "none" if each.value is None else json.dumps(_shown(each.value), ensure_ascii=False)
        output.answer(f"{each.key} = {value}  ({each.origin})")
    return 0


def _shown(value: object) -> object:
    """Mask the password in the URL of a server, wherever the setting came from."""
    return redact(value)[0] if isinstance(value, str) else value


def _node_json(node: Node) -> dict[str, Any]:
    return {
        "node": str(node.id),
        "path": node.path,
        "kind": node.kind,
        "title": node.title,
        "span": list(node.span),
    }


def _view_json(view: NodeView) -> dict[str, Any]:
    space, document = view.document.space, view.document
    return {
        "address": address_of(space, view.node.path),
        "space": space,
        **_node_json(view.node),
        "text": view.source,
        "document": {
            "document": str(document.id),
            "title": document.title,
            "address": address_of(space, document.path),
            "actor": document.actor,
            "source": document.source,
            "state": document.state,
            "tier": document.tier,
            "created_at": stamp(document.created_at),
            "stored_at": stamp(document.stored_at),
            "changed_at": stamp(document.changed_at),
            "sha256": document.sha256,
            "importance": document.importance,
            "seen": document.seen,
        },
        "access": view.node.access,
        "parent": None if view.parent is None else address_of(space, view.parent.path),
        "children": [
            {"address": address_of(space, each.path), **_node_json(each)} for each in view.children
        ],
        "neighbours": [
            {"address": address_of(space, node.path), "kind": edge.kind, "weight": edge.weight}
            for node, edge in view.neighbours
        ],
        "links": {
            "out": [address_of(space, node.path) for node in view.links_out],
            "in": [address_of(space, node.path) for node in view.links_in],
        },
    }


def _stats_json(stats: Stats) -> dict[str, Any]:
    tiers = stats.tiers
    sums = {
        name: sum(held[name] for held in tiers.values())
        for name in ("documents", "nodes", "vectors", "edges", "bytes", "wal_bytes")
    }
    return {
        "home": stats.home,
        "space": stats.space,
        **sums,
        "states": dict(stats.totals.states),
        "tiers": tiers,
        "missing_tiers": list(stats.missing_tiers),
        "embedder": {"name": stats.embedder, "identity": stats.identity},
        "spaces": dict(stats.totals.spaces),
        "errors": list(stats.totals.errors),
        "mirror": {"waiting": stats.unmirrored},
        "capture": {
            "waiting": stats.spooled,
            "set_aside": [{"file": name, "reason": reason} for name, reason in stats.set_aside],
            "paused": stats.paused,
        },
        "notes": list(stats.notes),
        "failing": [
            {
                "work": each.work,
                "error": each.error,
                "items": each.items,
                "failures": each.failures,
                "at": stamp(each.at),
                "next_at": stamp(each.next_at),
            }
            for each in stats.failing
        ],
        "rotation": None
        if stats.rotation is None
        else {"at": stamp(stats.rotation.at), "next_at": stamp(stats.rotation.next_at)},
        "clock_doubted_at": None
        if stats.clock_doubted_at is None
        else stamp(stats.clock_doubted_at),
        "holders": dict(stats.holders),
    }
