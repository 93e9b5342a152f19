"""`python -m config.healthcheck PORT`: whether the web process on this machine answers requests.

For the health check of a container. That something accepts connections proves little: a process at
its limit of connections accepts them and answers none. Any answer of /healthz will do: what else is
down is in its body, and no reason to take this process out of service.
"""

import http.client
import json
import os
import sys
from urllib.parse import urlsplit

PATIENCE_S = 4.0


def asked(port: int) -> str:
    """What is wrong; "" if nothing is."""
    # The web process answers only to the names at which browsers reach it.
    origin = os.environ.get("HEDDLE_ORIGINS", "").split(",")[0].strip()
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        line.request("GET", "/healthz", headers={"Host": urlsplit(origin).netloc or "localhost"})
        answer = line.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as error:
        return f"Port {port} gave no answer ({error or type(error).__name__})."
    finally:
        line.close()
    try:
        return "" if json.loads(body)["processes"]["web"] == "ok" else "The web process is down."
    except (ValueError, LookupError, TypeError):
        return f"/healthz answered {answer.status} without the state of the processes."


if __name__ == "__main__":
    sys.exit(asked(int(sys.argv[1]) if sys.argv[1:] else 8000) or None)
