"""The published NetHSM Python SDK and command line, unmodified, beside keys of types that they do not know.

    unknown-types.py HOST:PORT    Operational, with an RSA key `rsa`, a P-256 key `ec`, and users `admin` and `operator`

Prints the ids that each of them lists. What they do not know of ends the program with their error.
"""

import base64
import hashlib
import json
import sys

from click.testing import CliRunner
from nethsm import Authentication, Base64, NetHSM, SignMode
from pynitrokey.cli.nethsm import nethsm as program

host, admin, operator = sys.argv[1:4]
nethsm = NetHSM(host, Authentication("admin", admin), verify_tls=False)
ids = sorted(nethsm.list_keys())
types = {id: nethsm.get_key(id).type.value for id in ids}
user = NetHSM(host, Authentication("operator", operator), verify_tls=False)
digest = base64.b64encode(hashlib.sha256(b"message").digest()).decode()
for id, mode in [("rsa", SignMode.PSS_SHA256), ("ec", SignMode.ECDSA)]:
    assert len(base64.b64decode(user.sign(id, Base64(digest), mode).data)) > 60, id

options = ["--host", host, "--no-verify-tls", "--username", "admin", "--password", admin, "list-keys", "--details"]
listed = CliRunner().invoke(program, options)
if listed.exception is not None and not isinstance(listed.exception, SystemExit):
    raise listed.exception
assert listed.exit_code == 0, listed.output
print(json.dumps({"types": types, "listed": listed.output}))
