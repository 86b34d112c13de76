"""The base URL of a server, from what people write into settings and environment."""

from __future__ import annotations

from urllib.parse import urlsplit

from ringwood.errors import ConfigError

PORTS: dict[str, int | None] = {"embed.ollama_url": 11434, "embed.openai_url": None}
"""The settings that hold a base URL, and the port that goes without saying."""

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""What a server listens on, and where it is then found: `OLLAMA_HOST` is also the server's."""


def base_url(written: str, *, setting: str, port: int | None = None) -> str:
    """Return `scheme://host:port/path` without a slash at its end.

    Args:
        written: a URL, or for a server with a port of its own also `host`, `host:port`, `:port`.
        setting: the setting to name when it is none.
        port: the port that goes without saying.

    Raises:
        ConfigError: when it is no URL, or holds a user, a password or a query. The message does
            not repeat it.
    """
    whole = written.strip()
    if port is not None and "://" not in whole:
        whole = f"http://{whole}"
    try:
        parts = urlsplit(whole)
        own_port = parts.port
    except ValueError as error:
        raise _refused(setting, "is no URL") from error
    if parts.scheme not in ("http", "https") or not (parts.hostname or port):
        raise _refused(setting, "is no URL that begins with http:// or https://")
    if parts.username is not None or parts.query or parts.fragment:
        raise _refused(setting, "holds a user, a password or a query, which would be shown")
    host = parts.hostname or "127.0.0.1"
    host = _EVERYWHERE.get(host, host)
    host = f"[{host}]" if ":" in host else host
    usual = port if parts.scheme == "http" else None
    own_port = usual if own_port is None else own_port
    where = host if own_port is None else f"{host}:{own_port}"
    return f"{parts.scheme}://{where}{parts.path.rstrip('/')}"


def _refused(setting: str, why: str) -> ConfigError:
    return ConfigError(f"{setting} {why}.", mend=f"ringwood config {setting} http://HOST:PORT")
