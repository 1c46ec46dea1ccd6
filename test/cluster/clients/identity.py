"""The calls under /cluster/tls of the published NetHSM Python package, 3.1.0 and newer, unmodified.

Usage: identity.py request ADMIN HOST:PORT, which makes a key and prints a certificate request;
identity.py certify ADMIN HOST:PORT CERTIFICATE AUTHORITY -- files in PEM; any end but 0 is a failure.
"""

import sys
from pathlib import Path

from nethsm import Authentication, NetHSM, TlsKeyType

what, admin, host, *files = sys.argv[1:]
node = NetHSM(host, Authentication("admin", admin), verify_tls=False)


def request():
    former = node.get_cluster_public_key()
    node.generate_cluster_key(TlsKeyType.EC_P256)
    assert node.get_cluster_public_key() != former
    print(node.cluster_csr(common_name="node"), end="")


def certify():
    certificate, authority = (Path(file).read_bytes() for file in files)
    node.set_cluster_certificate(certificate)
    node.set_cluster_ca_certificate(authority)
    assert node.get_cluster_certificate().encode() == certificate
    assert node.get_cluster_ca_certificate().encode() == authority


{"request": request, "certify": certify}[what]()
