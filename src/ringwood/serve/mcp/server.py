"""What an MCP client is answered: tools, resources, prompts, completions. No transport here."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import mcp_types as types
from anyio import CapacityLimiter, to_thread
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from ringwood.errors import RingwoodError
from ringwood.memory import Memory
from ringwood.names import POLICY
from ringwood.recall.frame import enclose, render
from ringwood.serve import tools
from ringwood.serve.arguments import unwrapped
from ringwood.text.clean import clean
from ringwood.text.inert import inert
from ringwood.types import Document, address_of
from ringwood.version import __version__

INSTRUCTIONS = f"""\
Ringwood is long-term memory that outlives this session. {POLICY}
Call mem_recall before answering what earlier work may have settled: decisions and their reasons, \
preferences, names, past failures. Call mem_store when something is decided or learned that later \
sessions need, with the reason. Addresses such as app:/queue/limits can be read with mem_read."""
"""Goes to the model in some hosts. Constant: a changing text would void their prefix cache."""

RECENT = 50
"""Documents in the list of resources; every other address is reached by the template."""
COMPLETIONS = 100
"""What the protocol allows in one answer."""
RESOURCE_CHARS = 50_000
"""Of a resource: it goes into a conversation whole."""
CALLS_AT_ONCE = 8
"""More wait. Reading and writing the protocol has threads of its own, so calls never block it."""

_SCHEME = "ringwood://"
_MARKDOWN = "text/markdown"
_STABLE = CacheHint(ttl_ms=3_600_000, scope="private")
"""Lists that change with a release only. What memory holds is never cached."""

_PROMPTS = (
    types.Prompt(
        name="recall",
        title="Recall",
        description="Put what memory holds about a question before the model, with the question.",
        arguments=[
            types.PromptArgument(
                name="question", description="What you want to know.", required=True
            )
        ],
    ),
    types.Prompt(
        name="remember",
        title="Remember",
        description="Have the model store what this conversation settled, with the reasons.",
        arguments=[
            types.PromptArgument(
                name="what", description="What to keep; everything that matters, if left out."
            )
        ],
    ),
)

Context = ServerRequestContext[Any, Any]
Result = TypeVar("Result")


def build(memory: Memory) -> Server[Any]:
    """Make the server of one memory; its calls run in threads, since the core is synchronous."""
    answers = _Answers(memory)
    server: Server[Any] = Server(
        "ringwood",
        title="Ringwood",
        version=__version__,
        description="Long-term memory for AI agents, on your own disk.",
        instructions=INSTRUCTIONS,
        cache_hints={
            "tools/list": _STABLE,
            "prompts/list": _STABLE,
            "resources/templates/list": _STABLE,
        },
        on_list_tools=_list_tools,
        on_call_tool=answers.call_tool,
        on_list_resources=answers.list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=answers.read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=answers.get_prompt,
        on_completion=answers.complete,
    )
    # In the place of spans for whatever collector an environment names: nothing tells on a memory.
    server.middleware[:] = [_loosen]
    return server


def uri_of(document: Document) -> str:
    """Write the URI of a document: its address, escaped."""
    return f"{_SCHEME}{quote(document.space, safe='~')}{quote(document.path, safe='/~')}"


def address_in(uri: str) -> str:
    """Read the address out of a URI; what is no URI of ours is taken for an address."""
    if not uri.startswith(_SCHEME):
        return clean(uri)[0]
    space, _, path = uri.removeprefix(_SCHEME).partition("/")
    return clean(address_of(unquote(space), f"/{unquote(path)}"))[0]


class _Answers:
    """The requests that need the memory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._calls = CapacityLimiter(CALLS_AT_ONCE)

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        answer = await self._ask(partial(tools.call, self._memory, params.name, params.arguments))
        return types.CallToolResult(
            content=[types.TextContent(text=answer.text)],
            structured_content=answer.content,
            is_error=answer.failed,
        )

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        documents = await self._ask(partial(self._recent, RECENT))
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=uri_of(each),
                    name=address_of(each.space, each.path),
                    title=inert(each.title),
                    description=f"{each.created_at:%Y-%m-%d}, {each.actor}",
                    mime_type=_MARKDOWN,
                )
                for each in documents
            ]
        )

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        text = await self._ask(partial(self._resource, params.uri))
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=_MARKDOWN, text=text)]
        )

    async def get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        given = params.arguments or {}
        prompt = next((each for each in _PROMPTS if each.name == params.name), None)
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no prompt {params.name[:60]!r}.")
        if prompt.name == "recall":
            text = await self._ask(partial(self._recalled, given.get("question", "")))
        else:
            what = given.get("what") or "what this conversation decided or learned"
            text = (
                f"Store in memory with mem_store: {what}. Write it so that it can be understood"
                " without this conversation, with the reasons; one call for each subject."
            )
        return types.GetPromptResult(
            description=prompt.description,
            messages=[types.PromptMessage(role="user", content=types.TextContent(text=text))],
        )

    async def complete(
        self, context: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        found: list[str] = []
        if isinstance(params.ref, types.ResourceTemplateReference):
            documents = await self._ask(partial(self._recent, 1000))
            part = {"space": lambda each: each.space, "path": lambda each: each.path[1:]}
            name, begun = params.argument.name, params.argument.value.lstrip("/")
            if name in part:
                found = list(dict.fromkeys(map(part[name], documents)))
                found = [each for each in found if each.startswith(begun)]
        return types.CompleteResult(
            completion=types.Completion(
                values=found[:COMPLETIONS], total=len(found), has_more=len(found) > COMPLETIONS
            )
        )

    def _recent(self, limit: int) -> tuple[Document, ...]:
        self._memory.create()
        return self._memory.recent(limit=limit)

    def _resource(self, uri: str) -> str:
        self._memory.create()
        view = self._memory.read(address_in(uri), reach="recall")
        text = view.source
        if len(text) > RESOURCE_CHARS:
            text = f"{text[:RESOURCE_CHARS]}\n… mem_read has the rest, from offset {RESOURCE_CHARS}"
        return enclose(text, secrets.token_hex(8))

    def _recalled(self, question: str) -> str:
        if not question.strip():
            raise MCPError(types.INVALID_PARAMS, "The prompt recall needs a question.")
        self._memory.create()
        frame = render(self._memory.recall(question).hits, secrets.token_hex(8))
        return f"{frame or 'Memory holds nothing about this.'}\n\n{question}"

    async def _ask(self, work: Callable[[], Result]) -> Result:
        """Do it in a thread; a client that no longer waits is not waited for."""
        try:
            return await to_thread.run_sync(work, limiter=self._calls, abandon_on_cancel=True)
        except RingwoodError as error:
            raise MCPError(
                types.INVALID_PARAMS if error.exit_code < 3 else types.INTERNAL_ERROR,
                error.message,
                {"code": error.code, "mend": error.mend},
            ) from error


async def _list_tools(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=tool.name,
                title=tool.title,
                description=tool.description,
                input_schema=dict(tool.parameters),
                output_schema=dict(tool.returns),
                annotations=types.ToolAnnotations(
                    read_only_hint=tool.read_only,
                    destructive_hint=tool.destructive,
                    idempotent_hint=True,
                    open_world_hint=False,
                ),
            )
            for tool in tools.TOOLS
        ]
    )


async def _list_templates(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(
        resource_templates=[
            types.ResourceTemplate(
                name="address",
                title="A memory by its address",
                description="The text at an address: a document, a section or a paragraph.",
                uri_template=f"{_SCHEME}{{space}}/{{+path}}",
                mime_type=_MARKDOWN,
            )
        ]
    )


async def _list_prompts(
    context: Context, params: types.PaginatedRequestParams | None
) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=list(_PROMPTS))


async def _loosen(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Let through arguments that came as the JSON of an object: some models write them so."""
    params = ctx.params
    if ctx.method == "tools/call" and params is not None:
        given = unwrapped(params.get("arguments"))
        if isinstance(given, Mapping):
            ctx = replace(ctx, params={**params, "arguments": given})
    return await call_next(ctx)
