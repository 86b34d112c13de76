"""Which prompts say nothing that a memory could answer. On a hook's path: standard library only."""

from __future__ import annotations

_LONGEST = 40  # characters of a prompt that can still be nothing but a nod

_ENGLISH = """
ok okay k kk yes yeah yep yup y no nah nope n sure right correct exactly agreed alright fine good
great nice cool perfect excellent awesome brilliant lovely wonderful better wow hm hmm ha haha lgtm
thanks thank thx ty cheers please pls hello hey hi bye goodbye great understood done stop wait
go ahead on continue proceed resume start next again retry try redo now just keep going
a and as do does for got great i it its looks lot me much of one really run same ship so sounds
that thats the then this to too test u up very way well works you your is be will
"""
"""Assent, thanks and going on, with what binds them: a prompt of these words alone is trivial."""

_CHINESE = """
好 好的 好吧 好啊 好呀 好哒 好了 很好 太好了 不错 太棒了 棒 赞 是 是的 对 对的 嗯 行 行吧 可以
可以的 没问题 没事 同意 确认 确定 当然 不 不是 不行 不对 不用 不用了 谢 谢谢 多谢 感谢 辛苦 辛苦了
你 您 了 吧 的 啊 呀 哦 噢 哈 明白 知道 知道了 收到 懂了 了解 请 继续 接着 接着来 下一步 下一个
开始 停 停止 完成 再来 再试 再试一次 重试 试试 早 早上好 晚上好 你好 您好 再见 拜拜
"""
"""The same in Chinese, where a prompt writes them one after the other without a space."""


def is_trivial(prompt: str) -> bool:
    """Say whether a prompt asks nothing of a memory: a nod, thanks, a slash command, an emoji.

    A question is never trivial, and neither is a word that could name something.
    """
    said = prompt.strip()
    if said.startswith("/"):
        return "/" not in said.split()[0][1:]  # `/clear`, but not a path
    if len(said) > _LONGEST or "?" in said or "？" in said:
        return False
    english = frozenset(_ENGLISH.split())
    joined = said.casefold().replace("'", "").replace("’", "")
    words = "".join(char if char.isalnum() else " " for char in joined).split()
    return all(word in english or len(word) == 1 or _is_chinese_nod(word) for word in words)


def _is_chinese_nod(word: str) -> bool:
    """Say whether a run of characters is nothing but nods: one after the other."""
    nods = frozenset(_CHINESE.split())
    reached = {0}
    for end in range(1, len(word) + 1):
        if any(word[start:end] in nods for start in reached):
            reached.add(end)
    return len(word) in reached
