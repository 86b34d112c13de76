"""The words of our own frame, and whatever else must be known to recognise our own recall blocks.

A recall block comes back: a host hands the prompt over, the assistant quotes it, a user pastes it.
Recognising it, so that it is never remembered as something new, lives here; so does the frame's
tag, which the frame is built with and which recalled text must not forge.

On a hook's path: standard library only.
"""

FRAME_TAG = "memory-recall"
"""The tag around every block of recalled memory. A nonce beside it tells one block from another."""

FRAME_WORDS = (
    FRAME_TAG,
    "memory_recall",
    "memoryrecall",
    "system-reminder",
    "system_reminder",
    "system",
    "developer",
    "user",
    "assistant",
    "human",
    "instructions",
    "im_start",
    "im_end",
    "im_sep",
    "inst",
    "sys",
    "tool",
    "tool_call",
    "tool_result",
    "tool_use",
    "function_call",
    "function_calls",
    "function_result",
    "function_results",
    "invoke",
    "start_header_id",
    "end_header_id",
    "eot_id",
    "begin_of_text",
    "end_of_text",
    "endoftext",
    "start_of_turn",
    "end_of_turn",
)
"""What opens or closes a turn, a role or a tool call in some host or model, in small letters."""

ROLE_WORDS = ("system", "developer", "user", "assistant", "human", "instructions", "tool", "ai")
"""What makes a line pass for a speaker when it begins one: `Human:`, `### System`."""
