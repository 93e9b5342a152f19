"""A token bucket: so many a second, with a small burst."""

from dataclasses import dataclass


@dataclass
class Pace:
    """`a_second` may go in the long run, `burst` at once. Times are given by the caller."""

    a_second: float
    burst: float
    _left: float = -1.0
    _at: float = 0.0

    def may_go(self, now: float) -> bool:
        """Whether one may go now."""
        if self._left < 0:
            self._left, self._at = self.burst, now
        self._left = min(self.burst, self._left + (now - self._at) * self.a_second)
        self._at = now
        return self._left >= 1

    def take(self, now: float) -> bool:
        """Whether one may go now; if so, it has gone."""
        if not self.may_go(now):
            return False
        self._left -= 1
        return True

    @property
    def wait_s(self) -> float:
        """How long until the next one may go."""
        return max(0.0, (1 - self._left) / self.a_second)
