"""Drives a fresh appliance with the published NetHSM Python SDK, unmodified, and checks what it reads back.

Usage: sdk.py HOST:PORT  -- prints one line per step that holds; any other end is a failure.
"""

import base64
import hashlib
import os
import sys
from datetime import datetime, timedelta, timezone

import nethsm
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from nethsm import (
    Authentication,
    Base64,
    DecryptMode,
    EncryptMode,
    GenericPrivateKey,
    KeyMechanism,
    KeyType,
    NetHSM,
    NetHSMError,
    Role,
    RsaPrivateKey,
    SignMode,
    State,
    UnattendedBootStatus,
)
from transit_switch import switch_transit

HOST = sys.argv[1]
UNLOCK = "unlock passphrase"
ADMIN = Authentication("admin", "administrator passphrase")
MESSAGE = b"a message that was not hashed yet"


def connect(auth=None):
    return NetHSM(HOST, auth, verify_tls=False)


def refused(call, *texts):
    """The call raises, with all the texts in the message."""
    try:
        call()
    except NetHSMError as error:
        for text in texts:
            assert text in str(error), (text, str(error))
        return
    raise AssertionError(f"not refused, expected {texts}")


def done(text):
    print(text, flush=True)


anybody = connect()
admin = connect(ADMIN)


def lifecycle():
    assert anybody.get_state() == State.UNPROVISIONED
    info = anybody.get_info()
    assert info.vendor and info.product
    refused(lambda: admin.list_keys(), "Operational")
    refused(lambda: anybody.provision("x" * 201, ADMIN.password), "Malformed", "NetHSM error message: ")
    anybody.provision(UNLOCK, ADMIN.password, datetime.now(timezone.utc))
    switch_transit(HOST, ADMIN.username, ADMIN.password)
    assert anybody.get_state() == State.OPERATIONAL
    refused(lambda: anybody.provision(UNLOCK, ADMIN.password), "Unprovisioned")
    assert abs(admin.get_config_time() - datetime.now(timezone.utc)) < timedelta(minutes=1)
    later = datetime(2033, 2, 3, 4, 5, 6, 789012, tzinfo=timezone.utc)
    admin.set_time(later)
    assert abs(admin.get_config_time() - later) < timedelta(minutes=1)
    admin.set_time(datetime.now(timezone.utc))
    assert admin.get_config_unattended_boot() == "off"
    admin.set_unattended_boot(UnattendedBootStatus.ON)
    assert admin.get_config_unattended_boot() == "on"
    admin.set_unattended_boot(UnattendedBootStatus.OFF)
    done("provision, time and boot mode")


def users():
    assert admin.list_users() == ["admin"]
    for role in Role:
        user_id = f"u{role.value}"
        assert admin.add_user(f"Näme of {role.value}", role, f"passphrase {role.value}", user_id=user_id) == user_id
        user = admin.get_user(user_id)
        assert (user.real_name, user.role) == (f"Näme of {role.value}", role)
    refused(lambda: admin.add_user("x", Role.OPERATOR, "passphrase", user_id="uOperator"), "Conflict")
    refused(lambda: admin.add_user("x", Role.OPERATOR, "x" * 201), "Bad request")
    refused(lambda: admin.get_user("nobody"), "User nobody not found")
    made = admin.add_user("made", Role.METRICS, "passphrase Metrics")
    assert len(made) == 20 and made in admin.list_users()
    admin.delete_user(made)
    assert made not in admin.list_users()
    refused(lambda: admin.delete_user(made), "not found")

    operator = connect(Authentication("uOperator", "passphrase Operator"))
    operator.set_passphrase("uOperator", "pässphrase Operator")
    refused(lambda: operator.list_keys(), "invalid username or password")
    operator = connect(Authentication("uOperator", "pässphrase Operator"))
    assert operator.list_keys() == []
    refused(lambda: operator.list_users(), "requires the role Administrator")

    assert admin.list_operator_tags("uOperator") == []
    admin.add_operator_tag("uOperator", "berlin")
    admin.add_operator_tag("uOperator", "berlin")  # 304 is no error
    admin.add_operator_tag("uOperator", "aachen")
    assert admin.list_operator_tags("uOperator") == ["aachen", "berlin"]
    assert operator.list_operator_tags("uOperator") == ["aachen", "berlin"]
    refused(lambda: admin.add_operator_tag("uMetrics", "berlin"), "not an operator")
    admin.delete_operator_tag("uOperator", "aachen")
    refused(lambda: admin.delete_operator_tag("uOperator", "aachen"), "not found")
    assert admin.list_operator_tags("uOperator") == ["berlin"]

    metrics = connect(Authentication("uMetrics", "passphrase Metrics")).get_metrics()
    for name in ["uptime", "http response total", "http response 201", "http response 204", "gc major bytes"]:
        assert name in metrics, name
    for length in [1, 33, 1024]:
        assert len(operator.get_random_data(length).decode()) == length
    done("users, tags, metrics and random")
    return operator


def namespaces():
    assert admin.list_namespaces() == []
    admin.add_user("inside", Role.ADMINISTRATOR, "passphrase inside", user_id="admin", namespace="inside")
    inside = connect(Authentication("inside~admin", "passphrase inside"))
    refused(lambda: inside.list_keys(), "Access denied")
    admin.add_namespace("inside")
    assert admin.list_namespaces() == ["inside"]
    refused(lambda: admin.add_namespace("inside"))
    refused(lambda: admin.delete_user("inside~admin"), "Access denied")
    assert inside.add_user("x", Role.OPERATOR, "passphrase x", user_id="x", namespace="inside") == "inside~x"
    made = inside.add_user("y", Role.OPERATOR, "passphrase y")  # the id `inside~` does not pass the SDK's own check
    assert made.startswith("inside~") and len(made) == len("inside~") + 20
    assert inside.list_users() == sorted(["inside~admin", "inside~x", made])
    admin.generate_key(KeyType.EC_P256, [KeyMechanism.ECDSA_SIGNATURE], 256, key_id="same")
    inside.generate_key(KeyType.CURVE25519, [KeyMechanism.EDDSA_SIGNATURE], 256, key_id="same")
    assert admin.get_key("same").type == KeyType.EC_P256
    assert inside.get_key("same").type == KeyType.CURVE25519
    assert inside.list_keys() == ["same"]
    signer = connect(Authentication("inside~x", "passphrase x"))
    signature = signer.sign("same", Base64.encode(MESSAGE), SignMode.EDDSA).decode()
    key = serialization.load_pem_public_key(inside.get_key_public_key("same").encode())
    key.verify(signature, MESSAGE)
    admin.delete_namespace("inside")
    assert admin.list_namespaces() == []
    refused(lambda: inside.list_keys(), "Access denied")
    for user_id in ["inside~admin", "inside~x", made]:
        admin.delete_user(user_id)
    admin.delete_key("same")
    assert admin.list_keys() == []
    done("namespaces")


CURVES = {
    KeyType.EC_P256: (ec.SECP256R1(), hashes.SHA256()),
    KeyType.EC_P384: (ec.SECP384R1(), hashes.SHA384()),
    KeyType.EC_P521: (ec.SECP521R1(), hashes.SHA512()),
    KeyType.EC_P256K1: (ec.SECP256K1(), hashes.SHA256()),
    KeyType.BRAINPOOL_P256: (ec.BrainpoolP256R1(), hashes.SHA256()),
    KeyType.BRAINPOOL_P384: (ec.BrainpoolP384R1(), hashes.SHA384()),
    KeyType.BRAINPOOL_P512: (ec.BrainpoolP512R1(), hashes.SHA512()),
}
HASHES = {
    "MD5": hashes.MD5(),
    "SHA1": hashes.SHA1(),
    "SHA224": hashes.SHA224(),
    "SHA256": hashes.SHA256(),
    "SHA384": hashes.SHA384(),
    "SHA512": hashes.SHA512(),
}
RSA_MECHANISMS = [mechanism for mechanism in KeyMechanism if mechanism.value.startswith("RSA_")]


def digest(algorithm):
    context = hashes.Hash(algorithm)
    context.update(MESSAGE)
    return context.finalize()


def integer(data):
    return int.from_bytes(data.decode(), "big")


def encoded(value):
    # Longer than needed: published clients send leading zero bytes.
    return Base64.encode(value.to_bytes((value.bit_length() + 7) // 8 + 3, "big"))


def use_rsa(operator, key_id):
    key = serialization.load_pem_public_key(admin.get_key_public_key(key_id).encode())
    shown = admin.get_key(key_id)
    numbers = key.public_numbers()
    assert shown.type == KeyType.RSA and shown.mechanisms == RSA_MECHANISMS
    assert integer(shown.public_key.modulus) == numbers.n
    assert integer(shown.public_key.public_exponent) == numbers.e
    operations = 0
    for name, algorithm in HASHES.items():
        signature = operator.sign(key_id, Base64.encode(digest(algorithm)), SignMode(f"PSS_{name}")).decode()
        pss = padding.PSS(padding.MGF1(algorithm), salt_length=algorithm.digest_size)
        key.verify(signature, digest(algorithm), pss, Prehashed(algorithm))
        operations += 1
        if name == "MD5":
            continue  # this side's library has no OAEP with it
        sealed = key.encrypt(b"secret", padding.OAEP(padding.MGF1(algorithm), algorithm, None))
        assert operator.decrypt(key_id, Base64.encode(sealed), DecryptMode(f"OAEP_{name}")).decode() == b"secret"
        operations += 1
    # The caller supplies the DigestInfo: here that of SHA-256.
    info = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(MESSAGE).digest()
    signature = operator.sign(key_id, Base64.encode(info), SignMode.PKCS1).decode()
    key.verify(signature, MESSAGE, padding.PKCS1v15(), hashes.SHA256())
    sealed = key.encrypt(b"secret", padding.PKCS1v15())
    assert operator.decrypt(key_id, Base64.encode(sealed), DecryptMode.PKCS1).decode() == b"secret"
    size = (numbers.n.bit_length() + 7) // 8
    raw = pow(4711, numbers.e, numbers.n).to_bytes(size, "big")
    assert operator.decrypt(key_id, Base64.encode(raw), DecryptMode.RAW).decode() == (4711).to_bytes(size, "big")
    assert admin.get_key(key_id).operations == operations + 3


def rsa_keys(operator):
    admin.generate_key(KeyType.RSA, RSA_MECHANISMS, 2048, key_id="rsa", label="a läbel")
    assert admin.get_key("rsa").label == "a läbel"
    use_rsa(operator, "rsa")
    private = rsa.generate_private_key(65537, 2048)
    numbers = private.private_numbers()
    members = RsaPrivateKey(encoded(numbers.p), encoded(numbers.q), encoded(65537))
    assert admin.add_key("rsa-json", KeyType.RSA, RSA_MECHANISMS, members, tags=["berlin"]) == "rsa-json"
    assert admin.get_key("rsa-json").tags == ["berlin"]
    use_rsa(operator, "rsa-json")
    pem = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    ).decode()
    made = admin.add_key_pem(None, RSA_MECHANISMS, pem, label="from PEM")
    assert len(made) == 20 and admin.get_key(made).label == "from PEM"
    assert admin.get_key_public_key(made) == admin.get_key_public_key("rsa-json")
    use_rsa(operator, made)
    refused(lambda: admin.add_key("rsa-json", KeyType.RSA, RSA_MECHANISMS, members), "Conflict")
    refused(lambda: operator.sign("rsa", Base64.encode(b"x"), SignMode.ECDSA), "Bad request")
    admin.delete_key(made)
    done("RSA keys")


def curve_keys(operator):
    for key_type, (curve, algorithm) in CURVES.items():
        mechanisms = [KeyMechanism.ECDSA_SIGNATURE]
        generated = admin.generate_key(key_type, mechanisms, curve.key_size)
        private = ec.generate_private_key(curve)
        scalar = private.private_numbers().private_value.to_bytes((curve.key_size + 7) // 8, "big")
        imported = admin.add_key(None, key_type, mechanisms, GenericPrivateKey(Base64.encode(scalar)))
        pem = private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()
        admin.add_key_pem(f"pem-{key_type.value}", mechanisms, pem)
        for key_id in [generated, imported, f"pem-{key_type.value}"]:
            shown = admin.get_key(key_id)
            assert shown.type == key_type and shown.operations == 0
            key = serialization.load_pem_public_key(admin.get_key_public_key(key_id).encode())
            point = key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
            assert shown.public_key.data.decode() == point
            signature = operator.sign(key_id, Base64.encode(digest(algorithm)), SignMode.ECDSA).decode()
            key.verify(signature, digest(algorithm), ec.ECDSA(Prehashed(algorithm)))
            if key_id != generated:
                assert key.public_numbers() == private.public_key().public_numbers()
            admin.delete_key(key_id)
    admin.generate_key(KeyType.EC_P256K1, [KeyMechanism.BIP340_SIGNATURE], 256, key_id="bip340")
    assert len(operator.sign("bip340", Base64.encode(digest(hashes.SHA256())), SignMode.BIP340).decode()) == 64
    assert admin.get_key("bip340").operations == 1

    private = ed25519.Ed25519PrivateKey.generate()
    seed = private.private_bytes(
        serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption()
    )
    mechanisms = [KeyMechanism.EDDSA_SIGNATURE]
    admin.add_key("ed", KeyType.CURVE25519, mechanisms, GenericPrivateKey(Base64.encode(seed)))
    assert operator.sign("ed", Base64.encode(MESSAGE), SignMode.EDDSA).decode() == private.sign(MESSAGE)
    assert admin.get_key("ed").public_key.data.decode() == private.public_key().public_bytes_raw()
    done("keys on curves")


def generic_keys(operator):
    mechanisms = [KeyMechanism.AES_ENCRYPTION_CBC, KeyMechanism.AES_DECRYPTION_CBC]
    for length in [128, 192, 256]:
        key_id = admin.generate_key(KeyType.GENERIC, mechanisms, length)
        assert admin.get_key(key_id).public_key is None
        sealed = operator.encrypt(key_id, Base64.encode(b"sixteen bytes ok"), EncryptMode.AES_CBC)
        opened = operator.decrypt(key_id, sealed.encrypted, DecryptMode.AES_CBC, sealed.iv)
        assert opened.decode() == b"sixteen bytes ok"
        secret = os.urandom(length // 8)
        admin.add_key(f"aes{length}", KeyType.GENERIC, mechanisms, GenericPrivateKey(Base64.encode(secret)))
        iv = os.urandom(16)
        sealed = operator.encrypt(f"aes{length}", Base64.encode(MESSAGE[:32]), EncryptMode.AES_CBC, Base64.encode(iv))
        cipher = Cipher(algorithms.AES(secret), modes.CBC(iv)).encryptor()
        assert sealed.encrypted.decode() == cipher.update(MESSAGE[:32]) + cipher.finalize()
        assert sealed.iv.decode() == iv
        refused(
            lambda: operator.encrypt(f"aes{length}", Base64.encode(b"short"), EncryptMode.AES_CBC), "argument length"
        )
    done("generic keys")


def key_management(operator):
    admin.generate_key(KeyType.CURVE25519, [KeyMechanism.EDDSA_SIGNATURE], 256, key_id="prefix-one", label="red")
    admin.generate_key(KeyType.CURVE25519, [KeyMechanism.EDDSA_SIGNATURE], 256, key_id="prefix-two")
    assert admin.list_keys(prefix="prefix-") == ["prefix-one", "prefix-two"]
    assert admin.list_keys(prefix="Prefix-") == []
    assert admin.list_keys(label="red") == ["prefix-one"]
    admin.set_key_label("prefix-two", "red")
    assert admin.list_keys(prefix="prefix-", label="red") == ["prefix-one", "prefix-two"]
    admin.set_key_label("prefix-two", None)
    assert admin.get_key("prefix-two").label is None

    admin.add_key_tag("prefix-one", "munich")
    admin.add_key_tag("prefix-one", "munich")
    assert admin.get_key("prefix-one").tags == ["munich"]
    refused(lambda: operator.sign("prefix-one", Base64.encode(MESSAGE), SignMode.EDDSA), "Access denied")
    assert operator.list_keys(filter="yes", prefix="prefix-") == ["prefix-two"]
    admin.add_key_tag("prefix-one", "berlin")
    operator.sign("prefix-one", Base64.encode(MESSAGE), SignMode.EDDSA)
    admin.delete_key_tag("prefix-one", "munich")
    refused(lambda: admin.delete_key_tag("prefix-one", "munich"), "not found")

    admin.move_key("prefix-one", "moved")
    refused(lambda: admin.get_key("prefix-one"), "Key prefix-one not found")
    assert admin.get_key("moved").operations == 1
    refused(lambda: admin.move_key("moved", "prefix-two"), "already exists")
    admin.delete_key("moved")
    refused(lambda: admin.delete_key("moved"), "Key moved not found")

    csr = admin.key_csr(
        "rsa",
        common_name="example.org",
        country="DE",
        state_or_province="Brandenburg",
        locality="Teltow",
        organization="organization",
        organizational_unit="Teltow Büro",
        email_address="somebody@example.org",
        subject_alt_names=["example.org", "IP:192.0.2.1"],
    )
    request = x509.load_pem_x509_csr(csr.encode())
    assert request.is_signature_valid
    names = [attribute.value for attribute in request.subject]
    assert names == [
        "example.org",
        "DE",
        "Brandenburg",
        "Teltow",
        "organization",
        "Teltow Büro",
        "somebody@example.org",
    ]
    san = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert san.get_values_for_type(x509.DNSName) == ["example.org"]
    assert [str(address) for address in san.get_values_for_type(x509.IPAddress)] == ["192.0.2.1"]

    certificate = b"-----BEGIN CERTIFICATE-----\nnobody parses this\n-----END CERTIFICATE-----\n"
    refused(lambda: admin.get_key_certificate("rsa"), "not found")
    admin.set_key_certificate("rsa", certificate)
    assert operator.get_key_certificate("rsa") == certificate
    refused(lambda: admin.set_key_certificate("rsa", certificate), "already has a certificate")
    admin.delete_key_certificate("rsa")
    refused(lambda: admin.get_key_certificate("rsa"), "not found")
    done("key management, requests and certificates")


def lock_and_unlock(operator):
    keys = admin.list_keys()
    shown = admin.get_key("rsa")
    admin.lock()
    assert anybody.get_state() == State.LOCKED
    refused(lambda: operator.list_keys(), "Operational")
    refused(lambda: anybody.unlock("not the passphrase"), "wrong unlock passphrase")
    wait_for_next_attempt()
    anybody.unlock(UNLOCK)
    assert anybody.get_state() == State.OPERATIONAL
    assert admin.list_keys() == keys
    assert admin.get_key("rsa") == shown
    admin.set_unlock_passphrase("the next unlock passphrase", UNLOCK)
    admin.lock()
    anybody.unlock("the next unlock passphrase")
    assert base64.b64decode(operator.sign("ed", Base64.encode(MESSAGE), SignMode.EDDSA).data)
    done("lock and unlock")


def wait_for_next_attempt():
    import time

    time.sleep(1.1)


assert nethsm.__version__ == "3.0.0"
lifecycle()
the_operator = users()
namespaces()
rsa_keys(the_operator)
curve_keys(the_operator)
generic_keys(the_operator)
key_management(the_operator)
lock_and_unlock(the_operator)
done("all of it")
