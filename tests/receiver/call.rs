//! Clients: HTTP/1.1 byte by byte, and gRPC with raw messages.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tonic::codec::{BufferSettings, Codec, CompressionEncoding, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::Endpoint;
use tonic::{Request, Response, Status};

/// An HTTP answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answered {
    /// Reads one answer from a stream.
    pub(crate) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Self {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut answered = Self { status, headers, body: Vec::new() };
        let length = answered.header("content-length").map_or(0, |length| length.parse().unwrap());
        answered.body.resize(length, 0);
        stream.read_exact(&mut answered.body).await.unwrap();
        answered
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// The bytes of a POST.
pub(crate) fn post(path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    request("POST", path, headers, body)
}

/// The bytes of a request.
pub(crate) fn request(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: receiver\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    [head.as_bytes(), body].concat()
}

/// Sends all of a request, then reads the answer.
pub(crate) async fn exchange(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), request: &[u8]) -> Answered {
    stream.write_all(request).await.unwrap();
    stream.flush().await.unwrap();
    Answered::read(stream).await
}

/// The same on a connection of its own.
pub(crate) async fn send(address: SocketAddr, request: &[u8]) -> Answered {
    exchange(&mut TcpStream::connect(address).await.unwrap(), request).await
}

pub(crate) const JSON: (&str, &str) = ("Content-Type", "application/json");
pub(crate) const PROTOBUF: (&str, &str) = ("Content-Type", "application/x-protobuf");

/// A codec that leaves messages as they are.
#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }
    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, into: &mut EncodeBuf<'_>) -> Result<(), Status> {
        bytes::BufMut::put_slice(into, &item);
        Ok(())
    }
    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}

impl Decoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let mut item = vec![0; bytes::Buf::remaining(from)];
        bytes::Buf::copy_to_slice(from, &mut item);
        Ok(Some(item))
    }
}

pub(crate) const TRACES: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
pub(crate) const LOGS: &str = "/opentelemetry.proto.collector.logs.v1.LogsService/Export";
pub(crate) const METRICS: &str = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";

/// One gRPC call by the client of tonic.
pub(crate) async fn grpc(
    address: SocketAddr,
    path: &'static str,
    compression: Option<CompressionEncoding>,
    request: Request<Vec<u8>>,
) -> Result<Response<Vec<u8>>, Status> {
    let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    let mut client = tonic::client::Grpc::new(channel);
    if let Some(compression) = compression {
        client = client.send_compressed(compression);
    }
    client.ready().await.unwrap();
    client.unary(request, http::uri::PathAndQuery::from_static(path), Raw).await
}
