//! Tries to escape from the sandbox. A program of its own, because the helper is this program
//! again and must come first in `main`.

fn main() {
    creance::helper::run_if_requested();
    let args: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let dir = tempfile::tempdir().unwrap();
    let proj = dir.path().join("proj");
    std::fs::create_dir_all(proj.join(".git/hooks")).unwrap();
    let launch = creance::Launch {
        program: "/bin/sh".into(),
        name: "sh".into(),
        args: vec!["-c".into(), args[1].clone()],
        cwd: proj.clone(),
        stamps: vec![],
    };
    let mut grant = creance::Grant {
        home: Some("/root".into()),
        write: vec![proj.clone()],
        protect: creance::guarded::PROTECTED
            .iter()
            .map(|p| proj.join(p))
            .collect(),
        ..Default::default()
    };
    grant.env.0.insert("PATH".into(), "/usr/bin:/bin".into());
    runtime.block_on(async {
        let backend = std::env::var("B").unwrap_or("linux-ns".into());
        match creance::internal::start(&backend, &launch, &grant).await {
            Ok(mut r) => {
                println!("{}", r.confinement);
                let (o, e, x) = r.finish(b"").await;
                println!("{o}{e}{x}");
            }
            Err(e) => println!("ERR {e}"),
        }
    });
    println!(
        "{}",
        std::process::Command::new("ls")
            .arg("-laR")
            .arg(&proj)
            .output()
            .map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
            .unwrap()
    );
}
