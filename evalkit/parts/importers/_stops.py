"""Why a trial ended, from the words of others to those of evalkit.

Invariant: a word that is not known is kept, as `other:WORD`, and never taken for the nearest one.
"""

from __future__ import annotations

from evalkit.parts.importers._rows import text_of

OTHER = "other:"

_WORDS = {
    "finished": ("finished", "completed", "complete", "done", "stop", "end_turn", "agent_stop", "user_stop"),
    "cap:turns": ("max_steps", "max_turns", "max_iterations", "turn_limit", "step_limit", "turns", "turn", "message"),
    "cap:tokens": ("token_limit", "max_total_tokens", "tokens", "token"),
    "cap:seconds": ("timeout", "timed_out", "time_limit", "agent_timeout", "seconds", "time", "working"),
    "cap:usd": ("cost_limit", "budget", "max_cost", "usd", "cost"),
    "context_overflow": ("context_window_exceeded", "context_length_exceeded", "context_overflow", "context"),
    "truncated": ("max_tokens", "length", "truncated", "output_length_exceeded"),
    "refusal": ("refusal", "refused", "content_filter"),
    "gave_up": ("gave_up", "give_up"),
    "tool_error": ("too_many_errors", "tool_error"),
}
_KNOWN = {word: reason for reason, words in _WORDS.items() for word in words}
_OURS = ("cap:turns", "cap:tokens", "cap:seconds", "cap:usd")
_OPEN = ("detector:", "guardrail:", "error:", OTHER)


def stop_of(word: object) -> str:
    """The reason that a word stands for: evalkit's own words stand for themselves, an empty one for nothing that is known."""
    text = text_of(word, 80).strip()
    if not text or text.lower() in ("none", "null", "nan", "unknown", "unset"):
        return ""
    if text in _OURS or text.startswith(_OPEN):
        return text
    return _KNOWN.get(text.lower().replace("-", "_").replace(" ", "_")) or f"{OTHER}{text}"
