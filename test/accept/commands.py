"""A day with the published command line of NetHSM (`nitropy nethsm`, from PyPI's pynitrokey), unmodified: every command it has.

    commands.py HOST:PORT FRESH_HOST:FRESH_PORT DIRECTORY    both Unprovisioned; files go into the directory

The commands run in this process, as the program `nitropy` runs them. What a single Coffer refuses, for there is no cluster
of it, is checked to be refused as the command line expects.
"""

import base64
import hashlib
import json
import sys
import time
from datetime import datetime, timedelta, timezone

from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.serialization import pkcs12
from pynitrokey.cli.nethsm import nethsm as program
from transit_switch import switch_transit

host, fresh, directory = sys.argv[1:4]
UNLOCK, ADMIN, BACKUP = "the unlock passphrase", "the administrator", "the backup passphrase"
PASSPHRASES = {"admin": ADMIN, "signer": "passphrase of signer", "saver": "passphrase of saver", "meter": "passphrase of meter"}
used = set()
calls = 0


def run(*arguments, user="admin", at=host, typed=None):
    global calls
    options = ["--host", at, "--no-verify-tls"]
    if user is not None:
        options += ["--username", user, "--password", PASSPHRASES[user]]
    used.add(arguments[0])
    calls += 1
    result = CliRunner().invoke(program, [*options, *arguments], input=typed)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return 1, f"{result.output}{type(result.exception).__name__}: {result.exception}"
    return result.exit_code, result.output


def ok(*arguments, see=None, **where):
    code, output = run(*arguments, **where)
    assert code == 0, f"{arguments}: {code} {output}"
    if see is not None:
        for text in [see] if isinstance(see, str) else see:
            assert text in output, f"{arguments}: no {text!r} in {output}"
    return output


def refused(*arguments, see="", **where):
    code, output = run(*arguments, **where)
    assert code != 0 and see in output, f"{arguments}: {code} {output}"


def file(name, content=None):
    path = f"{directory}/{name}"
    if content is not None:
        with open(path, "wb") as opened:
            opened.write(content)
    return path


def pem_in(output, label):
    begin, end = f"-----BEGIN {label}-----", f"-----END {label}-----"
    return (output[output.index(begin) : output.index(end)] + end + "\n").encode()


def done(what):
    print(what, flush=True)


def wait_for(state, at=host):
    for _ in range(240):
        code, output = run("state", user=None, at=at)
        if code == 0 and state in output:
            return
        time.sleep(0.25)
    raise AssertionError(f"{state} never came: {output}")


def certificate(private, name, issuer=None, ca=False):
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    signer, signed_as = issuer if issuer else (private, subject)
    now = datetime.now(timezone.utc)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(signed_as).public_key(
        private if isinstance(private, ec.EllipticCurvePublicKey) else private.public_key()
    )
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1))
    builder = builder.not_valid_after(now + timedelta(days=30))
    builder = builder.add_extension(x509.BasicConstraints(ca, None), critical=True)
    return builder.sign(signer, hashes.SHA256())


def encoded(value):
    return value.public_bytes(serialization.Encoding.PEM)


def first_steps():
    ok("state", user=None, see="is Unprovisioned")
    ok("info", user=None, see=["Vendor", "Product"])
    ok("provision", "--unlock-passphrase", UNLOCK, "--admin-passphrase", ADMIN, user=None, see="provisioned")
    switch_transit(host, "admin", ADMIN)
    ok("state", user=None, see="is Operational")
    ok("system-info", see="Software version")
    ok("set-time", "2035-01-02T03:04:05Z")
    ok("get-config", "--time", see="2035")
    ok("set-time")
    ok("get-config", see=["Network", "Logging"])
    ok("set-logging-config", "--ip-address", "192.0.2.9", "--port", "514", "--log-level", "info")
    ok("get-config", "--logging", see=["192.0.2.9", "514"])
    ok("set-logging-config", "--ip-address", "0.0.0.0", "--port", "514", "--log-level", "warning")
    ok("set-network-config", "--ip-address", "192.0.2.7", "--netmask", "255.255.255.0", "--gateway", "192.0.2.1",
       "--ipv6-cidr", "2001:db8::7/64", "--ipv6-gateway", "2001:db8::1")
    ok("get-config", "--network", see=["192.0.2.7", "2001:db8::7/64"])
    ok("set-network-config", "--ip-address", "192.0.2.7", "--netmask", "255.255.255.0", "--gateway", "0.0.0.0")
    ok("set-ntp-config", "--ntp-ip", "192.0.2.5")
    ok("get-config", "--ntp", see="192.0.2.5")
    ok("set-unattended-boot", "on")
    ok("get-config", "--unattended-boot", see="on")
    ok("set-unattended-boot", "off")
    done("first steps")


def users():
    for user, role in [("signer", "Operator"), ("saver", "Backup"), ("meter", "Metrics")]:
        ok("add-user", "--real-name", f"The {user}", "--role", role, "--user-id", user, "--passphrase", PASSPHRASES[user])
    refused("add-user", "--real-name", "x", "--role", "Operator", "--user-id", "signer", "--passphrase", "long enough")
    ok("list-users", see=["signer", "saver", "meter"])
    ok("list-users", "--details", see=["The signer", "Operator"])
    ok("get-user", "signer", see="The signer")
    ok("add-operator-tag", "signer", "berlin")
    ok("list-operator-tags", "signer", see="berlin")
    ok("delete-operator-tag", "signer", "berlin")
    ok("set-passphrase", "--passphrase", "another passphrase", user="signer")
    refused("random", "8", user="signer", see="Unauthorized")
    # After a failed attempt the pair of address and user waits a second, contract section 7.1.
    time.sleep(1.1)
    ok("set-passphrase", "--user-id", "signer", "--passphrase", PASSPHRASES["signer"])
    ok("add-namespace", "team")
    ok("list-namespaces", see="team")
    ok("add-user", "--real-name", "Chief", "--role", "Administrator", "--user-id", "chief", "--namespace", "other",
       "--create-namespace", "--passphrase", "passphrase of chief")
    PASSPHRASES["other~chief"] = "passphrase of chief"
    ok("list-keys", user="other~chief")
    ok("delete-namespace", "team")
    ok("delete-namespace", "other")
    ok("delete-user", "other~chief")
    ok("metrics", user="meter", see="http response")
    data = ok("random", "16", user="signer")
    assert len(base64.b64decode(data.split()[-1])) == 16
    done("users, namespaces, metrics")


def keys():
    everything = ["RSA_Signature_PSS_SHA256", "RSA_Signature_PKCS1", "RSA_Decryption_PKCS1"]
    mechanisms = [part for name in everything for part in ("--mechanism", name)]
    ok("generate-key", "--type", "RSA", *mechanisms, "--length", "2048", "--key-id", "rsa", "--label", "a label")
    others = {"Curve25519": "EdDSA_Signature", "EC_P521": "ECDSA_Signature", "EC_P256K1": "BIP340_Signature"}
    others.update({f"EC_P{bits}": "ECDSA_Signature" for bits in (256, 384)})
    others.update({f"BrainpoolP{bits}": "ECDSA_Signature" for bits in (256, 384, 512)})
    for name, mechanism in others.items():
        ok("generate-key", "--type", name, "--mechanism", mechanism, "--length", "256", "--key-id", name)
    ok("generate-key", "--type", "Generic", "--mechanism", "AES_Encryption_CBC", "--mechanism", "AES_Decryption_CBC",
       "--length", "256", "--key-id", "aes")
    ok("list-keys", see=["rsa", "aes", *others])
    ok("list-keys", "--details", see=["RSA", "a label", "BrainpoolP512"])
    ok("list-keys", "--prefix", "EC_", see="EC_P256")
    ok("list-keys", "--label", "a label", see="rsa")
    ok("get-key", "rsa", see=["RSA", "a label"])
    public = serialization.load_pem_public_key(pem_in(ok("get-key", "rsa", "--public-key"), "PUBLIC KEY"))

    def sign(key, mode, message):
        data = base64.b64encode(message).decode()
        output = ok("sign", "--key-id", key, "--data", data, "--mode", mode, user="signer")
        return base64.b64decode(output.split()[-1])

    message = b"an important document"
    digest = hashlib.sha256(message).digest()
    public.verify(sign("rsa", "PSS_SHA256", digest), digest, padding.PSS(padding.MGF1(hashes.SHA256()), 32), Prehashed(hashes.SHA256()))
    pem = pem_in(ok("get-key", "EC_P256", "--public-key"), "PUBLIC KEY")
    serialization.load_pem_public_key(pem).verify(sign("EC_P256", "ECDSA", digest), digest, ec.ECDSA(Prehashed(hashes.SHA256())))
    pem = pem_in(ok("get-key", "Curve25519", "--public-key"), "PUBLIC KEY")
    serialization.load_pem_public_key(pem).verify(sign("Curve25519", "EdDSA", message), message)
    assert len(sign("EC_P256K1", "BIP340", digest)) == 64
    sealed = base64.b64encode(public.encrypt(b"secret", padding.PKCS1v15())).decode()
    output = ok("decrypt", "--key-id", "rsa", "--data", sealed, "--mode", "PKCS1", user="signer")
    assert base64.b64decode(output.split()[-1]) == b"secret"
    block, iv = (base64.b64encode(text).decode() for text in (b"sixteen bytes ok", b"initial vector 1"))
    output = ok("encrypt", "--key-id", "aes", "--data", block, "--mode", "AES_CBC", "-iv", iv, user="signer")
    encrypted = [word for word in output.split() if word.endswith("=")][0]
    ok("decrypt", "--key-id", "aes", "--data", encrypted, "--mode", "AES_CBC", "-iv", iv, user="signer", see=block)
    refused("sign", "--key-id", "rsa", "--data", block, "--mode", "PSS_SHA256", see="")

    ok("add-key-tag", "rsa", "berlin")
    refused("sign", "--key-id", "rsa", "--data", base64.b64encode(digest).decode(), "--mode", "PSS_SHA256", user="signer")
    ok("delete-key-tag", "rsa", "berlin")
    ok("set-key-label", "rsa", "another label")
    ok("get-key", "rsa", see="another label")
    ok("delete-key-label", "rsa")
    ok("move-key", "EC_P384", "moved")
    refused("get-key", "EC_P384", see="not found")

    private = ec.generate_private_key(ec.SECP256R1())
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    ok("import-key", "--mechanism", "ECDSA_Signature", "--key-id", "imported", "--label", "from PEM",
       file("key.pem", private.private_bytes(serialization.Encoding.PEM, *plain)))
    bundle = pkcs12.serialize_key_and_certificates(
        b"bundle", private, certificate(private, "bundle"), None, serialization.BestAvailableEncryption(b"of the bundle"))
    ok("import-pkcs12", "--mechanism", "ECDSA_Signature", "--key-id", "bundled", "--password", "of the bundle", file("key.p12", bundle))
    ok("get-certificate", "--key-id", "bundled")
    ok("add-key", "--type", "Generic", "--mechanism", "AES_Encryption_CBC", "--data", base64.b64encode(b"k" * 32).decode(),
       "--key-id", "added", "--tags", "berlin")
    ok("delete-key", "added")

    subject = ["--country", "DE", "--state-or-province", "Berlin", "--locality", "Berlin", "--organization", "Example",
               "--organizational-unit", "Tests", "--common-name", "example.org", "--email-address", "me@example.org"]
    request = x509.load_pem_x509_csr(pem_in(ok("csr", "--key-id", "EC_P256", *subject), "CERTIFICATE REQUEST"))
    assert request.is_signature_valid
    authority = ec.generate_private_key(ec.SECP256R1())
    root = certificate(authority, "Authority", ca=True)
    issued = encoded(certificate(request.public_key(), "example.org", (authority, root.subject)))
    ok("set-certificate", "--key-id", "EC_P256", file("key.crt", issued))
    assert pem_in(ok("get-certificate", "--key-id", "EC_P256"), "CERTIFICATE") == issued
    ok("delete-certificate", "--key-id", "EC_P256")
    refused("get-certificate", "--key-id", "EC_P256", see="not found")

    ok("generate-tls-key", "--type", "EC_P256")
    ok("get-config", "--public-key", see="PUBLIC KEY")
    request = x509.load_pem_x509_csr(pem_in(ok("csr", "--api", *subject), "CERTIFICATE REQUEST"))
    issued = encoded(certificate(request.public_key(), "example.org", (authority, root.subject)))
    ok("set-certificate", "--api", file("api.crt", issued))
    assert pem_in(ok("get-certificate", "--api"), "CERTIFICATE") == issued
    ok("get-config", "--certificate", see="CERTIFICATE")
    refused("get-cluster-ca-certificate", see="")
    ok("set-cluster-ca-certificate", file("ca.crt", encoded(root)))
    ok("get-cluster-ca-certificate", see="BEGIN CERTIFICATE")
    done("keys, certificates, requests")


def backups():
    refused("backup", file("too-early"), user="saver")
    ok("set-backup-passphrase", "--new-passphrase", BACKUP, "--force", typed="\n")
    path = file("backup")
    ok("backup", path, user="saver", see="written")
    ok("validate-backup", path, user=None, see="metadata is valid")
    ok("validate-backup", "--backup-passphrase", BACKUP, path, user=None, see="metadata and content are valid")
    refused("validate-backup", "--backup-passphrase", "another passphrase", path, user=None)
    exported = json.loads(ok("export-backup", "--backup-passphrase", BACKUP, path, user=None))
    assert "/key/rsa" in json.dumps(exported) and "/authentication/signer" in json.dumps(exported)
    listed = ok("list-keys")
    ok("delete-key", "moved")
    ok("restore", "--backup-passphrase", BACKUP, path, see="restored")
    assert ok("list-keys").replace(host, "") == listed.replace(host, "")
    refused("restore", "--backup-passphrase", "another passphrase", path, user=None, at=fresh, see="validate")
    ok("restore", "--backup-passphrase", BACKUP, path, user=None, at=fresh, see="restored")
    ok("state", user=None, at=fresh, see="is Locked")
    ok("unlock", UNLOCK, user=None, at=fresh)
    assert ok("list-keys", at=fresh).replace(fresh, "") == listed.replace(host, "")
    done("backups, saved, validated, exported and restored without force")


def the_rest():
    image = file("image", b"no image")
    refused("update", image)
    refused("commit-update")
    refused("cancel-update")
    ok("list-cluster-members", see="1 cluster members")
    member = ok("list-cluster-members").split("id: ")[1].split()[0]
    for command in [("add-cluster-member", "--url", "https://192.0.2.2:2380", file("join")),
                    ("set-cluster-member-urls", "--url", "https://192.0.2.2:2380", member),
                    ("remove-cluster-member", member), ("promote-cluster-member", member), ("force-new-cluster",)]:
        refused(*command)
    ok("get-cluster-diagnostics", see="running:    False")
    kit = {"members": [], "joinerKit": base64.b64encode(b"{}").decode(), "backupPassphrase": BACKUP}
    refused("join-cluster", "--backup-passphrase", BACKUP, __import__("pathlib").Path(file("join", json.dumps(kit).encode())).as_posix())
    ok("set-unlock-passphrase", "--new-passphrase", "the next unlock passphrase", "--current-passphrase", UNLOCK, "--force")
    ok("lock", see="locked")
    refused("list-keys", see="Operational")
    ok("unlock", "the next unlock passphrase", user=None)
    ok("reboot", "--force")
    wait_for("Locked")
    ok("unlock", "the next unlock passphrase", user=None)
    ok("factory-reset", "--force")
    wait_for("Unprovisioned")
    ok("test", "--admin-passphrase", ADMIN, "--operator-passphrase", "the operator of the test", "--unlock-passphrase", UNLOCK,
       "--key-generations", "2", "--random-length", "2000", user=None, see="random data")
    wait_for("Unprovisioned")
    ok("shutdown", "--force", user=None)
    done("updates, cluster, lock, restarts")


first_steps()
users()
keys()
backups()
the_rest()
missing = set(program.commands) - used
assert not missing, f"never called: {missing}"
done(f"{len(used)} commands, {calls} calls")
