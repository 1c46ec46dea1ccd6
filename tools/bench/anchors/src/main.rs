//! Signatures with AWS-LC and with ring, for primitives.ts. `anchors MILLISECONDS` prints for each library and operation one line of
//! JSON with the processor time of a signature in nanoseconds, measured for so long.

use std::time::Duration;

const MESSAGE: [u8; 100] = [7; 100];

fn main() {
    let milliseconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20);
    let budget = Duration::from_millis(milliseconds);
    aws_lc(budget);
    ring_(budget);
}

fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn measure(library: &str, name: &str, budget: Duration, mut sign: impl FnMut()) {
    for _ in 0..3 {
        sign();
    }
    let start = cpu_ns();
    let mut count = 0u64;
    loop {
        sign();
        count += 1;
        let spent = cpu_ns() - start;
        if spent >= budget.as_nanos() as u64 {
            println!("{{\"library\":\"{library}\",\"name\":\"{name}\",\"ns\":{}}}", spent / count);
            return;
        }
    }
}

fn aws_lc(budget: Duration) {
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
    use aws_lc_rs::signature::{
        self, EcdsaKeyPair, Ed25519KeyPair, PqdsaKeyPair, ML_DSA_44_SIGNING, ML_DSA_65_SIGNING, ML_DSA_87_SIGNING,
    };
    let random = SystemRandom::new();
    let ed25519 = Ed25519KeyPair::generate().unwrap();
    measure("AWS-LC", "Ed25519 sign", budget, || {
        std::hint::black_box(ed25519.sign(&MESSAGE));
    });
    for (name, algorithm) in [
        ("P-256 sign", &signature::ECDSA_P256_SHA256_ASN1_SIGNING),
        ("P-384 sign", &signature::ECDSA_P384_SHA384_ASN1_SIGNING),
        ("P-521 sign", &signature::ECDSA_P521_SHA512_ASN1_SIGNING),
        ("secp256k1 sign", &signature::ECDSA_P256K1_SHA256_ASN1_SIGNING),
    ] {
        let key = EcdsaKeyPair::generate(algorithm).unwrap();
        measure("AWS-LC", name, budget, || {
            std::hint::black_box(key.sign(&random, &MESSAGE).unwrap());
        });
    }
    for (bits, size) in [(2048, KeySize::Rsa2048), (3072, KeySize::Rsa3072), (4096, KeySize::Rsa4096)] {
        let key = RsaKeyPair::generate(size).unwrap();
        let mut out = vec![0; key.public_modulus_len()];
        measure("AWS-LC", &format!("RSA-{bits} sign"), budget, || {
            key.sign(&signature::RSA_PKCS1_SHA256, &random, &MESSAGE, &mut out).unwrap();
        });
        measure("AWS-LC", &format!("RSA-{bits} sign PSS"), budget, || {
            key.sign(&signature::RSA_PSS_SHA256, &random, &MESSAGE, &mut out).unwrap();
        });
    }
    for (name, algorithm) in [
        ("ML-DSA-44 sign", &ML_DSA_44_SIGNING),
        ("ML-DSA-65 sign", &ML_DSA_65_SIGNING),
        ("ML-DSA-87 sign", &ML_DSA_87_SIGNING),
    ] {
        let key = PqdsaKeyPair::generate(algorithm).unwrap();
        let mut out = vec![0; algorithm.signature_len()];
        measure("AWS-LC", name, budget, || {
            key.sign(&MESSAGE, &mut out).unwrap();
        });
    }
}

fn ring_(budget: Duration) {
    use ring::rand::SystemRandom;
    use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair};
    let random = SystemRandom::new();
    let document = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    let ed25519 = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
    measure("ring", "Ed25519 sign", budget, || {
        std::hint::black_box(ed25519.sign(&MESSAGE));
    });
    for (name, algorithm) in [
        ("P-256 sign", &signature::ECDSA_P256_SHA256_ASN1_SIGNING),
        ("P-384 sign", &signature::ECDSA_P384_SHA384_ASN1_SIGNING),
    ] {
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap();
        measure("ring", name, budget, || {
            std::hint::black_box(key.sign(&random, &MESSAGE).unwrap());
        });
    }
}
