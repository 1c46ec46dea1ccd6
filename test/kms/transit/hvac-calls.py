"""Drives the transit API with the published Python client hvac, unmodified: every call of its class Transit that Coffer offers, lists,
batches, tokens and state.

Environment: BAO_ADDR, ADMIN_PASSPHRASE, PASSPHRASE (of the operator `web`). Prints "all of it"; any other end is a failure.
"""

import base64
import hashlib
import os

import hvac
from hvac.exceptions import Forbidden, InvalidPath, InvalidRequest


def connect(token=None):
    return hvac.Client(url=os.environ["BAO_ADDR"], token=token, verify=False)


def refused(error, call, *args, **options):
    try:
        call(*args, **options)
    except error:
        return
    raise AssertionError(f"not refused: {args} {options}")


PLAIN = base64.b64encode(b"hello").decode()
AAD = base64.b64encode(b"a header").decode()

anybody = connect()
assert anybody.sys.is_initialized()
assert not anybody.sys.is_sealed()
assert anybody.sys.read_health_status(method="GET")["sealed"] is False
assert anybody.sys.read_leader_status()["ha_enabled"] is False

admin = connect()
admin.auth.userpass.login(username="admin", password=os.environ["ADMIN_PASSPHRASE"])
keys = admin.secrets.transit
refused(InvalidPath, keys.list_keys)
KEYS = ["aes256-gcm96", "ed25519", "ecdsa-p256", "ecdsa-p384", "ecdsa-p521", "rsa-2048"]
for kind in KEYS:
    keys.create_key(name=kind, key_type=kind)
    assert keys.read_key(name=kind)["data"]["type"] == kind
assert keys.list_keys()["data"]["keys"] == sorted(KEYS)
for option in ["exportable", "allow_plaintext_backup"]:
    refused(InvalidRequest, keys.create_key, name="open", **{option: True})
refused(InvalidRequest, keys.create_key, name="open", key_type="chacha20-poly1305")
refused(InvalidPath, keys.read_key, name="open")
for kind in ["encryption-key", "signing-key", "hmac-key"]:
    refused(Forbidden, keys.export_key, name="aes256-gcm96", key_type=kind)
refused(InvalidPath, keys.backup_key, name="aes256-gcm96")
refused(Forbidden, keys.encrypt_data, name="aes256-gcm96", plaintext=PLAIN)
assert "transit/" in admin.sys.list_mounted_secrets_engines()["data"]

client = connect()
client.auth.approle.login(role_id="web", secret_id=os.environ["PASSPHRASE"])
transit = client.secrets.transit
assert transit.list_keys()["data"]["keys"] == sorted(KEYS)
assert client.list("transit/keys")["data"]["keys"] == sorted(KEYS)
refused(Forbidden, transit.create_key, name="another")

AES = "aes256-gcm96"
sealed = transit.encrypt_data(name=AES, plaintext=PLAIN, associated_data=AAD)["data"]["ciphertext"]
assert transit.decrypt_data(name=AES, ciphertext=sealed, associated_data=AAD)["data"]["plaintext"] == PLAIN
refused(InvalidRequest, transit.decrypt_data, name=AES, ciphertext=sealed)
sealed = transit.encrypt_data(name=AES, plaintext=PLAIN)["data"]["ciphertext"]
again = transit.rewrap_data(name=AES, ciphertext=sealed)["data"]["ciphertext"]
assert again != sealed
many = transit.encrypt_data(name=AES, batch_input=[{"plaintext": PLAIN}] * 3)["data"]["batch_results"]
batch = [{"ciphertext": item["ciphertext"]} for item in many] + [{"ciphertext": again}]
opened = transit.decrypt_data(name=AES, batch_input=batch)["data"]["batch_results"]
assert [item["plaintext"] for item in opened] == [PLAIN] * 4
assert len(transit.rewrap_data(name=AES, ciphertext=None, batch_input=batch)["data"]["batch_results"]) == 4
for bits in [128, 256, 512]:
    made = transit.generate_data_key(name=AES, key_type="plaintext", bits=bits)["data"]
    assert len(base64.b64decode(made["plaintext"])) * 8 == bits
    assert transit.decrypt_data(name=AES, ciphertext=made["ciphertext"])["data"]["plaintext"] == made["plaintext"]
assert "plaintext" not in transit.generate_data_key(name=AES, key_type="wrapped")["data"]
assert len(bytes.fromhex(transit.generate_random_bytes(n_bytes=33, output_format="hex")["data"]["random_bytes"])) == 33

for algorithm in ["sha2-224", "sha2-256", "sha2-384", "sha2-512"]:
    expected = hashlib.new(algorithm.replace("2-", ""), b"hello")
    for form, text in [("hex", expected.hexdigest()), ("base64", base64.b64encode(expected.digest()).decode())]:
        assert transit.hash_data(hash_input=PLAIN, algorithm=algorithm, output_format=form)["data"]["sum"] == text
    mac = transit.generate_hmac(name=AES, hash_input=PLAIN, algorithm=algorithm)["data"]["hmac"]
    verify = transit.verify_signed_data
    assert verify(name=AES, hash_input=PLAIN, hmac=mac, hash_algorithm=algorithm)["data"]["valid"]
    assert not verify(name=AES, hash_input=AAD, hmac=mac, hash_algorithm=algorithm)["data"]["valid"]

WAYS = {
    "ed25519": [{}],
    "ecdsa-p256": [{"marshaling_algorithm": "asn1"}, {"marshaling_algorithm": "jws"}],
    "ecdsa-p384": [{"hash_algorithm": "sha2-384"}],
    "ecdsa-p521": [{"hash_algorithm": "sha2-512"}],
    "rsa-2048": [
        {"signature_algorithm": "pss", "salt_length": "auto"},
        {"signature_algorithm": "pss", "salt_length": "hash"},
        {"signature_algorithm": "pkcs1v15", "hash_algorithm": "sha2-512"},
    ],
}
for name, ways in WAYS.items():
    for way in ways:
        signature = transit.sign_data(name=name, hash_input=PLAIN, **way)["data"]["signature"]
        assert transit.verify_signed_data(name=name, hash_input=PLAIN, signature=signature, **way)["data"]["valid"]
        assert not transit.verify_signed_data(name=name, hash_input=AAD, signature=signature, **way)["data"]["valid"]
digest = base64.b64encode(hashlib.sha256(b"hello").digest()).decode()
signature = transit.sign_data(name="ecdsa-p256", hash_input=digest, prehashed=True)["data"]["signature"]
assert transit.verify_signed_data(name="ecdsa-p256", hash_input=PLAIN, signature=signature)["data"]["valid"]
signed = transit.sign_data(name="ed25519", batch_input=[{"input": PLAIN}, {"input": AAD}])["data"]["batch_results"]
assert len(signed) == 2

assert client.lookup_token()["data"]["display_name"] == "approle"
assert client.auth.token.lookup(client.token)["data"]["id"] == client.token
client.auth.token.renew_self()
child = connect(client.auth.token.create(ttl="10m")["auth"]["client_token"])
assert 0 < child.lookup_token()["data"]["ttl"] <= 600
kept = connect(client.auth.token.create(period="24h", display_name="ci")["auth"]["client_token"])
assert kept.lookup_token()["data"]["expire_time"] is None
assert kept.is_authenticated()
kept.auth.token.revoke_self()
assert not kept.is_authenticated()
capabilities = client.sys.get_capabilities(paths=["transit/encrypt/" + AES])["data"]
assert capabilities["capabilities"] == ["update"]
client.logout(revoke_token=True)
assert not child.is_authenticated(), "it ends with its parent"

refused(InvalidRequest, keys.delete_key, name="ed25519")
keys.update_key_configuration(name="ed25519", deletion_allowed=True, min_decryption_version=1)
keys.delete_key(name="ed25519")
refused(InvalidPath, keys.read_key, name="ed25519")
assert "ed25519" not in keys.list_keys()["data"]["keys"]
admin.auth.token.revoke_self()
assert not admin.is_authenticated()
print("all of it")
