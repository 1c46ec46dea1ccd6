"""Saves and restores with the published NetHSM Python SDK, unmodified.

Usage: sdk.py HOST:PORT FRESH_HOST:FRESH_PORT  -- the first is furnished and unlocked, the second is Unprovisioned.
"""

import sys
from datetime import datetime, timezone

from nethsm import Authentication, NetHSM, State

OLD, NEXT = "backup of the furnished", "next passphrase of backups"
UNLOCK = "unlock of the furnished"


def connect(host, user=None):
    auth = Authentication(user, f"passphrase of {user}") if user else None
    return NetHSM(host, auth=auth, verify_tls=False)


furnished, fresh = sys.argv[1:3]
connect(furnished, "admin").set_backup_passphrase(NEXT, OLD)
backup = connect(furnished, "saver").backup()
keys = connect(furnished, "admin").list_keys()
connect(furnished, "admin").restore(backup, NEXT, datetime.now(timezone.utc))
assert connect(furnished).get_state() == State.OPERATIONAL
connect(fresh).restore(backup, NEXT, datetime.now(timezone.utc))
assert connect(fresh).get_state() == State.LOCKED
connect(fresh).unlock(UNLOCK)
assert connect(fresh, "admin").list_keys() == keys and len(keys) > 10
print("all of it")
