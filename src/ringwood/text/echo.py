"""The words of our own frame, and whatever else must be known to recognise our own recall blocks.

A recall block comes back: a host hands the prompt over, the assistant quotes it, a user pastes it.
Recognising it, so that it is never remembered as something new, lives here; so does the frame's
tag, which the frame is built with and which recalled text must not forge.

On a hook's path: standard library only. Words are in small letters; a hyphen stands for any hyphen,
underscore or space, or for none.
"""

FRAME_TAG = "memory-recall"
"""The tag around every block of recalled memory. A nonce beside it tells one block from another."""

FRAME_WORDS = (
    FRAME_TAG,
    "system-reminder",
    "im-start",
    "im-end",
    "im-sep",
    "function-call",
    "function-result",
    "tool-call",
    "tool-result",
    "tool-output",
    "tool-use",
    "start-header-id",
    "end-header-id",
    "eot-id",
    "begin-of-text",
    "end-of-text",
    "begin-of-sentence",
    "end-of-sentence",
    "start-of-turn",
    "end-of-turn",
)
"""Words of no ordinary tag: whatever begins with one counts (`function_calls`, `im_start|user`)."""

ROLE_WORDS = (
    "system",
    "developer",
    "user",
    "assistant",
    "human",
    "instructions",
    "inst",
    "sys",
    "tool",
    "invoke",
)
"""Words that open a turn or a call as a whole tag: `<system>`, `<|user|>`."""

BRACKETED_WORDS = (FRAME_TAG, "system-reminder", "system", "assistant", "human", "inst", "sys")
"""Words that do so in square brackets: `[INST]`. `[user]` and `[tool]` head honest settings."""

LABELS = ("system", "assistant", "human")
"""Words that make a line a speaker's when it begins with one: `Human:`, `### System`."""

CAPITAL_LABELS = ("user", "developer", "tool")
"""The same, where the capital tells them from a setting's key: `User:`, but not `user: root`."""


def drop_blocks(text: str) -> tuple[str, int]:
    """Take our own blocks of recalled memory out of a text, and say how many."""
    return text, 0
