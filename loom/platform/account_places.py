"""How many of something each account holds at once, in one process."""

from collections import Counter


class AccountPlaces:
    """Places that accounts hold, and give back. Not for several threads without a lock."""

    def __init__(self) -> None:
        self.held: Counter[int] = Counter()  # by account

    def take(self, account: int, *, most: int) -> bool:
        """Takes a place, unless the account holds as many already; whether it did."""
        if self.held[account] >= most:
            return False
        self.held[account] += 1
        return True

    def give_back(self, account: int) -> None:
        """Gives a place back that was taken."""
        self.held[account] -= 1
        if not self.held[account]:
            del self.held[account]
