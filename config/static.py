"""Static files as they are now: a build while the server runs is served at once."""

from pathlib import Path
from typing import Any

from whitenoise.base import MissingFileError
from whitenoise.middleware import WhiteNoiseMiddleware


class Fresh(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise remembers each file's length from the start, and would cut a longer one
    short after a build. Here a changed file is looked at anew: one stat a request."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._seen: dict[str, tuple[str, int, int]] = {}
        super().__init__(*args, **kwargs)

    def __call__(self, request: Any) -> Any:
        """Serves the file as it is, else goes on to the program."""
        url = request.path_info
        if url.startswith(self.static_prefix):
            self._look(url)
        return super().__call__(request)

    def get_static_file(self, path: str, url: str, stat_cache: Any = None) -> Any:
        """The file, noted with its time and length."""
        found = super().get_static_file(path, url, stat_cache=stat_cache)
        state = Path(path).stat()
        self._seen[url] = (path, state.st_mtime_ns, state.st_size)
        return found

    def _look(self, url: str) -> None:
        path, *known = self._seen.get(url, ("", 0, 0))
        try:
            if not path:
                found = self.find_file(url)
                if found is not None:
                    self.files[url] = found
                return
            state = Path(path).stat()
            if known != [state.st_mtime_ns, state.st_size]:
                self.add_file_to_dictionary(url, path)
        except (OSError, MissingFileError):
            self.files.pop(url, None)
            self._seen.pop(url, None)
