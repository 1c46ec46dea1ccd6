//! The cluster calls of the published NetHSM Rust library, unmodified, by the paths of NetHSM 5.0.
//!
//! Usage: membership request ADMIN HOST:PORT, which prints a certificate request;
//! membership certify ADMIN HOST:PORT CERTIFICATE AUTHORITY -- files in PEM;
//! membership join ADMIN UNLOCK BACKUP HOST:PORT=PEER_URL... -- passphrases.

use std::{env, fs, thread, time::Duration};

use nethsm_sdk_rs::apis::{configuration::Configuration, default_api as api};
use nethsm_sdk_rs::models::{
    ClusterAddReq, ClusterInitialMember, ClusterJoinReq, DistinguishedName, UnlockRequestData,
};
use ureq::{config::Config, tls::TlsConfig};

const TRIES: u32 = 120;

fn connect(host: &str, admin: &str) -> Configuration {
    let tls = TlsConfig::builder().disable_verification(true).build();
    let client = Config::builder().http_status_as_error(false).tls_config(tls).build().new_agent();
    Configuration {
        base_path: format!("https://{host}/api/v1"),
        client,
        basic_auth: Some(("admin".to_owned(), Some(admin.to_owned()))),
        ..Configuration::default()
    }
}

/// A learner that has not caught up, and a node that waits for others, are refused for a while.
fn again<T, E: std::fmt::Debug>(mut call: impl FnMut() -> Result<T, E>) -> T {
    for _ in 0..TRIES {
        if let Ok(result) = call() {
            return result;
        }
        thread::sleep(Duration::from_secs(1));
    }
    call().unwrap()
}

fn request(node: &Configuration) {
    let name = DistinguishedName::new("node".to_owned());
    print!("{}", api::config_tls_csr_pem_post(node, name).unwrap().entity);
}

fn certify(node: &Configuration, certificate: &str, authority: &str) {
    let (chain, ca) = (fs::read_to_string(certificate).unwrap(), fs::read_to_string(authority).unwrap());
    api::config_tls_cert_pem_put(node, &chain).unwrap();
    api::config_tls_cluster_ca_pem_put(node, &ca).unwrap();
    assert_eq!(api::config_tls_cert_pem_get(node).unwrap().entity, chain);
    assert_eq!(api::config_tls_cluster_ca_pem_get(node).unwrap().entity, ca);
}

fn join(admin: &str, unlock: &str, backup: &str, places: &[String]) {
    let nodes: Vec<_> = places.iter().map(|place| place.split_once('=').unwrap()).collect();
    let first = connect(nodes[0].0, admin);
    for (host, url) in &nodes[1..] {
        let node = connect(host, admin);
        let added = again(|| api::cluster_members_post(&first, ClusterAddReq::new(vec![url.to_string()]))).entity;
        let learner = added.members.iter().find(|member| member.learner).unwrap().id.clone();
        let members = added
            .members
            .into_iter()
            .map(|member| ClusterInitialMember::new(member.name, member.urls))
            .collect();
        api::cluster_join_post(&node, ClusterJoinReq::new(members, added.joiner_kit, backup.to_owned())).unwrap();
        again(|| api::cluster_members_member_id_promote_post(&first, &learner));
        again(|| api::unlock_post(&node, UnlockRequestData::new(unlock.to_owned())));
    }
    for (host, _) in &nodes {
        let members = again(|| api::cluster_members_get(&connect(host, admin))).entity;
        assert_eq!(members.len(), nodes.len());
        assert!(members.iter().all(|member| !member.learner));
    }
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match texts[..] {
        ["request", admin, host] => request(&connect(host, admin)),
        ["certify", admin, host, certificate, authority] => certify(&connect(host, admin), certificate, authority),
        ["join", admin, unlock, backup, ..] => join(admin, unlock, backup, &arguments[4..]),
        _ => panic!("request, certify or join"),
    }
}
