"""Backups of a NetHSM, written and read here without any code of Coffer's.

    nethsm-form.py write VERSION FILE BACKUP_PASSPHRASE UNLOCK_PASSPHRASE    prints what is in it
    nethsm-form.py read FILE BACKUP_PASSPHRASE UNLOCK_PASSPHRASE             prints what is in it

The reader of the container is the published one (nethsm.backup), that of the records follows the description of the form.
What is printed is JSON: users, namespaces, keys with their public ones, settings.
"""

import base64
import hashlib
import hmac
import json
import os
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from nethsm.backup import EncryptedBackup

DEVICE = "0123456789"
STORES = {
    "authentication": b"auth_store",
    "key": b"key_store",
    "namespace": b"namespace_store",
    "config": b"config_store",
}


def scrypt(passphrase, salt):
    return hashlib.scrypt(passphrase.encode(), salt=salt, n=16384, r=8, p=16, dklen=32)


def seal(key, context, plain):
    nonce = os.urandom(12)
    return nonce + AESGCM(key).encrypt(nonce, plain, context.encode())


def unseal(key, context, sealed):
    return AESGCM(key).decrypt(sealed[:12], sealed[12:], context.encode())


def store_key(domain_key, path):
    return hashlib.sha256(domain_key + STORES[path.split("/")[1]]).digest()


def field(value):
    return len(value).to_bytes(3, "big") + value


def quoted(value):
    """A string of the records' JSON: bytes of any kind, none of them as an escape that need not be one."""
    text = bytearray()
    for byte in value:
        if byte < 0x20 or byte in b'"\\\x7f':
            text += b"\\u%04x" % byte
        else:
            text.append(byte)
    return b'"' + bytes(text) + b'"'


def read_json(data):
    """Strings become text of which each character stands for one byte."""
    return json.loads(data.decode("latin-1"), strict=False)


def text(value):
    return value.encode("latin-1").decode()


# ---- writing


def user(name, passphrase, role, tags=()):
    salt = os.urandom(16)
    digest = hmac.new(salt, passphrase.encode(), "sha256").digest()
    members = b'{"name":%s,"salt":%s,"digest":%s,"role":%s,"tags":%s}'
    return members % (
        quoted(name.encode()),
        quoted(salt),
        quoted(digest),
        quoted(role.encode()),
        json.dumps(list(tags)).encode(),
    )


def pem_of(private):
    return private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def key(private, mechanisms, cert=None, operations=0, tags=(), label=None):
    kept = b'{"raw":%s}' % quoted(base64.b64encode(private)) if isinstance(private, bytes) else b'{"PEM":%s}' % quoted(pem_of(private))
    members = [
        b'"mechanisms":%s' % json.dumps(mechanisms).encode(),
        b'"priv":' + kept,
        b'"cert":%s' % (b"[%s,%s]" % (quoted(cert[0].encode()), quoted(cert[1])) if cert else b"null"),
        b'"operations":%d' % operations,
        b'"restrictions":%s' % json.dumps({"tags": list(tags)} if tags else {}).encode(),
    ]
    if label is not None:
        members.append(b'"label":%s' % quoted(label.encode()))
    return b"{" + b",".join(members) + b"}"


def public_of(private):
    if isinstance(private, bytes):
        return None
    return (
        private.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def certificate_of(private):
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "keyfender")])
    from datetime import datetime, timezone

    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(4711)
        .not_valid_before(datetime(1970, 1, 1, tzinfo=timezone.utc))
        .not_valid_after(datetime(2100, 1, 1, tzinfo=timezone.utc))
        .sign(private, hashes.SHA256())
    )


def write(version, path, backup_passphrase, unlock_passphrase):
    version = int(version)
    domain_key, unlock_salt, backup_salt, settings_key = (os.urandom(n) for n in (32, 16, 16, 32))
    backup_key = scrypt(backup_passphrase, backup_salt)
    curves = {
        "EC_P256": ec.SECP256R1(),
        "EC_P384": ec.SECP384R1(),
        "EC_P521": ec.SECP521R1(),
        "EC_P256K1": ec.SECP256K1(),
        "BrainpoolP256": ec.BrainpoolP256R1(),
        "BrainpoolP384": ec.BrainpoolP384R1(),
        "BrainpoolP512": ec.BrainpoolP512R1(),
    }
    privates = {
        "Curve25519": ed25519.Ed25519PrivateKey.generate(),
        "RSA": rsa.generate_private_key(65537, 2048),
        "Generic": os.urandom(32),
        **{name: ec.generate_private_key(curve) for name, curve in curves.items()},
    }
    tls = ec.generate_private_key(ec.SECP256R1())
    tls_certificate = certificate_of(tls)
    raw = bytes(range(256))
    mechanisms = {"RSA": ["RSA_Signature_PSS_SHA256", "RSA_Decryption_RAW"], "Curve25519": ["EdDSA_Signature"]}
    mechanisms["Generic"] = ["AES_Decryption_CBC", "AES_Encryption_CBC"]
    chief = "chief of the team"
    entries = {
        "/authentication/.version": b"0",
        "/authentication/admin": user("admin", "passphrase of admin", "Administrator"),
        "/authentication/signer": user("Sigrún \\ \"the signer\"", "passphrase of signer", "Operator", ["berlin"]),
        "/authentication/saver": user("saver", "passphrase of saver", "Backup"),
        "/authentication/team~chief": user(chief, "passphrase of team~chief", "Administrator"),
        "/key/.version": b"0",
        "/namespace/.version": b"0",
        "/namespace/team": b'"team"',
    }
    keys = {}
    for name, private in privates.items():
        allowed = mechanisms.get(name, ["ECDSA_Signature"])
        entries[f"/key/{name}"] = key(private, allowed, operations=len(keys))
        keys[name] = {"type": name, "public": public_of(private), "operations": len(keys)}
    special = ed25519.Ed25519PrivateKey.generate()
    cert = ("application/octet-stream", raw)
    entries["/key/special"] = key(special, ["EdDSA_Signature"], cert, 7, ["berlin"], "ein Schlüssel")
    entries["/key/.team/special"] = key(privates["EC_P256"], ["ECDSA_Signature"])
    keys["special"] = {"type": "Curve25519", "public": public_of(special), "operations": 7}
    entries["/config/backup-salt"] = backup_salt
    entries["/config/backup-key"] = backup_key
    settings = {"unlock-salt": unlock_salt, "time-offset": b"-1"}
    der = tls_certificate.public_bytes(serialization.Encoding.DER)
    settings["certificate"] = len(der).to_bytes(4, "big") + der
    settings["private-key"] = pem_of(tls)
    if version == 0:
        settings["ip-config"] = bytes([10, 1, 0, 1, 10, 1, 2, 3, 255, 255, 240, 0])
        settings["log-config"] = bytes([10, 1, 0, 9, 2, 2]) + b"warning"
    else:
        settings["ip-config"] = b'{"ipv4":{"cidr":"10.1.2.3/20","gateway":"10.1.0.1"}}'
        settings["log-config"] = b'{"ipAddress":"10.1.0.9","port":514,"logLevel":"warning"}'
    stored = {"/.initialized": b"", "/config/version": b"%d" % version}
    for place, plain in entries.items():
        late = place.startswith("/config/") and version == 0
        stored[place] = plain if late else seal(store_key(domain_key, place), place, plain)
    for name, plain in settings.items():
        place = f"/config/{name}" if version == 0 else f"/local/{DEVICE}/config/{name}"
        stored[place] = plain if version == 0 else seal(settings_key, place, plain)
    attended = "/domain-key/attended" if version == 0 else f"/local/{DEVICE}/domain-key/attended"
    stored[attended] = os.urandom(88)
    if version == 1:
        stored["/local/another-one/config/unlock-salt"] = os.urandom(44)

    locked = seal(scrypt(unlock_passphrase, unlock_salt), "passphrase", domain_key)
    with open(path, "wb") as file:
        file.write(b"_NETHSM_BACKUP_" + bytes([version]) + field(backup_salt))
        file.write(field(seal(backup_key, "backup-version", bytes([version]))))
        file.write(field(seal(backup_key, "domain-key", locked)))
        if version == 1:
            file.write(field(seal(backup_key, "backup-device-id", DEVICE.encode())))
            file.write(field(seal(backup_key, "backup-config-store-key", settings_key)))
        for place in sorted(stored):
            file.write(field(seal(backup_key, "backup", field(place.encode()) + stored[place])))
        if version == 1:
            file.write(b"\0\0\0_NETHSM_BACKUP_END_")
    shown = {"keys": keys, "tls": tls_certificate.public_bytes(serialization.Encoding.PEM).decode()}
    shown["generic"] = privates["Generic"].hex()
    print(json.dumps(shown))


# ---- reading


def read(path, backup_passphrase, unlock_passphrase):
    with open(path, "rb") as file:
        backup = EncryptedBackup.parse(file.read()).decrypt(backup_passphrase)
    device = backup.backup_device_id.decode()
    settings = {}
    for place, value in backup.data.items():
        if place.startswith(f"/local/{device}/config/"):
            settings[place.split("/")[-1]] = unseal(backup.backup_config_store_key, place, value)
    domain_key = unseal(scrypt(unlock_passphrase, settings.pop("unlock-salt")), "passphrase", backup.domain_key)
    assert backup.data["/config/version"] == b"1" and backup.data["/.initialized"] == b""
    assert f"/local/{device}/domain-key/attended" in backup.data
    shown = {"users": {}, "namespaces": [], "keys": {}, "versions": [], "settings": {}}
    for place, value in backup.data.items():
        store, *names = place.split("/")[1:]
        if store not in STORES or place == "/config/version":
            continue
        plain = unseal(store_key(domain_key, place), place, value)
        if names == [".version"]:
            shown["versions"].append(plain.decode())
        elif store == "authentication":
            kept = read_json(plain)
            assert len(kept["digest"]) == 32
            shown["users"][names[0]] = {"name": text(kept["name"]), "role": kept["role"], "tags": kept["tags"]}
        elif store == "namespace":
            shown["namespaces"].append(read_json(plain))
        elif store == "key":
            kept = read_json(plain)
            private = kept["priv"].get("PEM")
            loaded = private and serialization.load_pem_private_key(private.encode(), None)
            shown["keys"]["/".join(names)] = {
                "public": public_of(loaded) if loaded else None,
                "raw": None if loaded else len(base64.b64decode(kept["priv"]["raw"])),
                "mechanisms": kept["mechanisms"],
                "operations": kept["operations"],
                "tags": kept["restrictions"].get("tags", []),
                "label": text(kept.get("label", "")),
                "cert": kept["cert"] and [kept["cert"][0], kept["cert"][1].encode("latin-1").hex()],
            }
        elif place == "/config/backup-key":
            salt = unseal(store_key(domain_key, place), "/config/backup-salt", backup.data["/config/backup-salt"])
            assert plain == scrypt(backup_passphrase, salt)
    length = int.from_bytes(settings["certificate"][:4], "big")
    certificate = x509.load_der_x509_certificate(settings["certificate"][4 : 4 + length])
    key_pair = serialization.load_pem_private_key(settings["private-key"], None)
    assert key_pair.public_key() == certificate.public_key()
    for name in ["ip-config", "log-config"]:
        shown["settings"][name] = json.loads(settings[name]) if name in settings else None
    shown["settings"]["tls"] = certificate.public_bytes(serialization.Encoding.PEM).decode()
    print(json.dumps(shown))


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](*sys.argv[2:])
