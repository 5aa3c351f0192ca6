//! The client's side.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, duplex};

use super::super::*;
use crate::protocol::json::{Json, Object};
use crate::protocol::rpc::Id;

#[tokio::test(start_paused = true)]
async fn messages_come_in_order_and_the_end_is_orderly() {
    let (mut client, stdin) = duplex(1 << 16);
    let (stdout, mut answers) = duplex(1 << 16);
    let (downstream, mut inbox) = Downstream::connect(stdin, stdout);
    client
        .write_all(
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n[]\n{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"x\":\"\\ud800\"}}",
        )
        .await
        .unwrap();
    drop(client);
    let Some(Incoming::Request(request)) = inbox.next().await else {
        panic!("a request comes first");
    };
    downstream
        .answer(request.id, Ok(Json::Object(Object::default())))
        .await
        .unwrap();
    let Some(Incoming::Misfit(misfit)) = inbox.next().await else {
        panic!("then a misfit");
    };
    downstream.refuse(&misfit).await.unwrap();
    assert_eq!(inbox.next().await, Some(Incoming::Mended(1)));
    assert!(matches!(
        inbox.next().await,
        Some(Incoming::Notification(_))
    ));
    assert_eq!(inbox.next().await, None);
    // What waits for a client that is gone fails at once, answers still go out.
    let options = CallOptions::within(Duration::from_secs(60));
    let asked = downstream
        .request("elicitation/create", None, options)
        .await;
    let gone = CallError::Closed("the client closed its output".to_owned());
    assert_eq!(asked, Err(gone));
    downstream
        .notify("notifications/tools/list_changed", None)
        .await
        .unwrap();
    downstream.finish().await;
    let mut all = String::new();
    answers.read_to_string(&mut all).await.unwrap();
    assert_eq!(
        all,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\
         {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"batches are not taken: send one message a line\"}}\n\
         {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n"
    );
}

#[tokio::test(start_paused = true)]
async fn the_client_can_be_asked() {
    let (mut client, stdin) = duplex(1 << 16);
    let (stdout, questions) = duplex(1 << 16);
    let mut questions = BufReader::new(questions);
    let (downstream, _inbox) = Downstream::connect(stdin, stdout);
    let options = CallOptions::within(Duration::from_secs(60));
    let asking = downstream.clone();
    let asked =
        tokio::spawn(async move { asking.request("elicitation/create", None, options).await });
    let mut line = String::new();
    questions.read_line(&mut line).await.unwrap();
    assert_eq!(
        line,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\"}\n"
    );
    let id = Id::from(1);
    let answer =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"action\":\"accept\"}}}}\n");
    client.write_all(answer.as_bytes()).await.unwrap();
    assert_eq!(
        asked.await.unwrap().unwrap().to_string(),
        "{\"action\":\"accept\"}"
    );
}

/// Node gives its children sockets in place of pipes; shells give pipes and files.
#[cfg(unix)]
#[tokio::test]
async fn sockets_and_pipes_are_read_without_threads() {
    use super::super::socket::{Socket, pipe_reader, pipe_writer};

    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut socket = Socket::of(&ours).unwrap();
    let mut other = Socket::of(&theirs).unwrap();
    let text = vec![b'x'; 1 << 20];
    let sent = async {
        socket.write_all(&text).await.unwrap();
        drop((socket, ours));
    };
    let mut got = Vec::new();
    let (read, ()) = tokio::join!(other.read_to_end(&mut got), sent);
    assert_eq!(read.unwrap(), 1 << 20);
    assert!(pipe_reader(&theirs).is_err());

    let (reader, writer) = std::io::pipe().unwrap();
    assert!(Socket::of(&reader).is_err());
    if !std::path::Path::new("/proc/self/fd").exists() {
        println!("skipped pipes: there is no /proc");
        return;
    }
    let mut from = pipe_reader(&reader).unwrap();
    let mut into = pipe_writer(&writer).unwrap();
    drop((reader, writer));
    let sent = async move { into.write_all(&text).await };
    let mut got = Vec::new();
    let (read, written) = tokio::join!(from.read_to_end(&mut got), sent);
    written.unwrap();
    assert_eq!(read.unwrap(), 1 << 20);
}
