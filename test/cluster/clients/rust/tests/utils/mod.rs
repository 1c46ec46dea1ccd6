//! What tests/basic.rs of nethsm-sdk-rs expects here, with a fresh Coffer for each container: who listens at COFFERS starts one for each
//! connection, sends its address as a line, and stops it when the connection ends.

use std::{
    env,
    io::{BufRead, BufReader},
    net::TcpStream,
};

use nethsm_sdk_rs::apis::{configuration::Configuration, default_api};
use ureq::{Agent, tls::TlsConfig};

pub async fn with_container<F: FnOnce(Configuration) -> T, T>(f: F) -> T {
    let mut coffer = BufReader::new(TcpStream::connect(env::var("COFFERS").unwrap()).unwrap());
    let mut address = String::new();
    coffer.read_line(&mut address).unwrap();
    let tls = TlsConfig::builder().disable_verification(true).build();
    let client = Agent::new_with_config(Agent::config_builder().tls_config(tls).build());
    let base_path = format!("https://{}/api/v1", address.trim());
    f(Configuration { base_path, client, ..Default::default() })
}

pub struct Version {
    pub major: u8,
}

pub fn version(config: &Configuration) -> Version {
    let version = default_api::system_info_get(config).unwrap().entity.software_version;
    Version { major: version.split_once('.').unwrap().0.parse().unwrap() }
}
