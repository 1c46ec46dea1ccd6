"""Switches the transit API of an appliance on, where COFFER_TEST_TRANSIT=on asks for it, and checks that it answers."""

import base64
import json
import os
import ssl
import urllib.request


def switch_transit(address, user, passphrase):
    if os.environ.get("COFFER_TEST_TRANSIT") != "on":
        return
    credentials = base64.b64encode(f"{user}:{passphrase}".encode()).decode()
    headers = {"authorization": f"Basic {credentials}", "content-type": "application/json"}
    body = json.dumps({"transit": "on", "tokenHours": 24}).encode()
    settings = f"https://{address}/api/v1/config/interfaces"
    context = ssl._create_unverified_context()
    request = urllib.request.Request(settings, data=body, headers=headers, method="PUT")
    assert urllib.request.urlopen(request, context=context).status == 204
    assert urllib.request.urlopen(f"https://{address}/v1/sys/health", context=context).status == 200
    print("transit on", flush=True)
