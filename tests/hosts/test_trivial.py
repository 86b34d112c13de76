"""Prompts that say nothing a memory could answer, and those that look like it."""

from __future__ import annotations

import pytest

from ringwood.hosts.trivial import is_trivial


@pytest.mark.parametrize(
    "prompt",
    [
        *("ok", "OK!", "Okay.", "yes", "y", "yes please", "no", "nope", "sure", "thanks!", "thx"),
        *("go ahead", "please continue", "looks good to me", "sounds great, thanks", "that's fine"),
        *(
            "继续",
            "好的",
            "好的，谢谢",
            "好的继续谢谢你了",
            "可以",
            "嗯嗯",
            "是的。",
            "没问题，继续",
        ),
        *("/clear", "/compact now", "👍", "👍🏽 👍🏽", "…", "", "   \n", "1", "?!"[1:]),
    ],
)
def test_a_nod_is_trivial(prompt: str) -> None:
    assert is_trivial(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        *("why?", "ok?", "yes or no?", "为什么", "好吗？", "继续哪个", "?"),
        *("postgres", "heron", "use redis", "no, use the other port", "do not use redis"),
        *("测试", "部署", "好的，现在部署", "不要用redis", "对比", "对方"),
        *("/etc/hosts is wrong", "/srv/app/main.py", "k8s", "test the queue"),
        "ok " * 40,
    ],
)
def test_what_could_mean_something_is_not(prompt: str) -> None:
    assert not is_trivial(prompt)


def test_a_long_run_of_nods_is_looked_at_once() -> None:
    assert is_trivial("好的" * 20)
    assert not is_trivial("好的" * 100_000)
