"""Signs with one key of a PKCS #11 module, again and again, until its input ends; a line for each signature, in base 64.

Usage: signing.py MODULE LABEL PIN  -- ends with 1 and says so at the first call that fails. Version 2.40 of the standard.
"""

import base64
import ctypes
import hashlib
import select
import sys

CKF_SERIAL_SESSION = 4
CKU_USER = 1
CKA_CLASS, CKA_LABEL = 0, 3
CKO_PRIVATE_KEY = 3
CKM_ECDSA = 0x1041
DIGEST = hashlib.sha256(b"a message").digest()
PAUSE_SECONDS = 0.05

name, label, pin = sys.argv[1:]
module = ctypes.CDLL(name)
ulong = ctypes.c_ulong


class Attribute(ctypes.Structure):
    _fields_ = [("type", ulong), ("value", ctypes.c_void_p), ("length", ulong)]


class Mechanism(ctypes.Structure):
    _fields_ = [("mechanism", ulong), ("parameter", ctypes.c_void_p), ("length", ulong)]


def call(function, *parameters):
    result = getattr(module, function)(*parameters)
    if result != 0:
        print(f"{function}: {result:#x}", flush=True)
        sys.exit(1)


def attribute(kind, value):
    kept = ctypes.create_string_buffer(value, len(value))
    return Attribute(kind, ctypes.cast(kept, ctypes.c_void_p), len(value)), kept


call("C_Initialize", None)
session = ulong()
call("C_OpenSession", ulong(0), ulong(CKF_SERIAL_SESSION), None, None, ctypes.byref(session))
call("C_Login", session, ulong(CKU_USER), pin.encode(), ulong(len(pin)))
wanted = [attribute(CKA_CLASS, bytes(ulong(CKO_PRIVATE_KEY))), attribute(CKA_LABEL, label.encode())]
template = (Attribute * len(wanted))(*(one for one, _ in wanted))
call("C_FindObjectsInit", session, template, ulong(len(wanted)))
key, found = ulong(), ulong()
call("C_FindObjects", session, ctypes.byref(key), ulong(1), ctypes.byref(found))
call("C_FindObjectsFinal", session)
assert found.value == 1, "no such key"

while not select.select([sys.stdin], [], [], PAUSE_SECONDS)[0]:
    call("C_SignInit", session, ctypes.byref(Mechanism(CKM_ECDSA, None, 0)), key)
    signature = ctypes.create_string_buffer(512)
    length = ulong(len(signature))
    call("C_Sign", session, DIGEST, ulong(len(DIGEST)), signature, ctypes.byref(length))
    print(base64.b64encode(signature.raw[: length.value]).decode(), flush=True)
call("C_Finalize", None)
