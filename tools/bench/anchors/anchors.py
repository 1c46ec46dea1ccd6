"""Signatures with the OpenSSL of Python's `cryptography`, and ML-DSA of pycryptodome where it has that, for primitives.ts.

`anchors.py MILLISECONDS` prints for each library and operation one line of JSON with the processor time of a signature in nanoseconds,
measured for so long.
"""

import json
import sys
import time

MESSAGE = bytes([7]) * 100
BUDGET_NS = int(sys.argv[1] if len(sys.argv) > 1 else 20) * 1_000_000


def measure(library, name, sign):
    for _ in range(3):
        sign()
    start = time.process_time_ns()
    count = 0
    while True:
        sign()
        count += 1
        spent = time.process_time_ns() - start
        if spent >= BUDGET_NS:
            print(json.dumps({"library": library, "name": name, "ns": spent // count}))
            return


def cryptography_():
    from cryptography.hazmat.backends.openssl import backend
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

    # "OpenSSL 4.0.0 14 Apr 2026", or that of another library that cryptography was built with
    library = " ".join(backend.openssl_version_text().split(" ")[:2])
    key = ed25519.Ed25519PrivateKey.generate()
    measure(library, "Ed25519 sign", lambda: key.sign(MESSAGE))
    for name, curve, hash in (
        ("P-256", ec.SECP256R1(), hashes.SHA256()),
        ("P-384", ec.SECP384R1(), hashes.SHA384()),
        ("P-521", ec.SECP521R1(), hashes.SHA512()),
        ("secp256k1", ec.SECP256K1(), hashes.SHA256()),
        ("brainpoolP256r1", ec.BrainpoolP256R1(), hashes.SHA256()),
        ("brainpoolP384r1", ec.BrainpoolP384R1(), hashes.SHA384()),
        ("brainpoolP512r1", ec.BrainpoolP512R1(), hashes.SHA512()),
    ):
        private = ec.generate_private_key(curve)
        algorithm = ec.ECDSA(hash)
        measure(library, f"{name} sign", lambda: private.sign(MESSAGE, algorithm))
    pss = padding.PSS(padding.MGF1(hashes.SHA256()), 32)
    for bits in (2048, 3072, 4096):
        pair = rsa.generate_private_key(65537, bits)
        measure(library, f"RSA-{bits} sign", lambda: pair.sign(MESSAGE, padding.PKCS1v15(), hashes.SHA256()))
        measure(library, f"RSA-{bits} sign PSS", lambda: pair.sign(MESSAGE, pss, hashes.SHA256()))
    try:
        from cryptography.hazmat.primitives.asymmetric import mldsa
    except ImportError:
        return
    for bits in (44, 65, 87):
        lattice = getattr(mldsa, f"MLDSA{bits}PrivateKey").generate()
        measure(library, f"ML-DSA-{bits} sign", lambda: lattice.sign(MESSAGE))


def pycryptodome():
    from Crypto.PublicKey import MLDSA
    from Crypto.Signature import mldsa

    for bits in (44, 65, 87):
        signer = mldsa.new(MLDSA.generate(param_set=MLDSA.ParamSet(f"ML-DSA-{bits}")))
        measure("pycryptodome", f"ML-DSA-{bits} sign", lambda: signer.sign(MESSAGE))


for library in (cryptography_, pycryptodome):
    try:
        library()
    except ImportError:
        pass
