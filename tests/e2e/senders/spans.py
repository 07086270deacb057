"""Delivers spans with an exporter of OpenTelemetry for Python, each of a call of its own to an agent.

    python spans.py grpc|http|json ADDRESS NAME COUNT

Prints how many were exported. `json` is OTLP/HTTP in JSON, which the SDK cannot do: its encoder's messages, written as OTLP
wants them in JSON, sent again when the answer says so.
"""

import base64
import json
import sys
import time
import urllib.error
import urllib.request

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind


class JsonExporter(SpanExporter):
    """Sends in JSON."""

    def __init__(self, url):
        self.url = url

    def export(self, spans):
        from google.protobuf.json_format import MessageToDict
        from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

        message = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
        hexadecimal(message)
        body = json.dumps(message).encode()
        for attempt in range(30):
            request = urllib.request.Request(self.url, body, {"content-type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    said = json.load(answer)
                if said:
                    raise SystemExit(f"a partial success: {said}")
                return SpanExportResult.SUCCESS
            except urllib.error.HTTPError as error:
                if error.code not in (429, 502, 503, 504):
                    raise
                time.sleep(float(error.headers.get("retry-after", 1)))
        return SpanExportResult.FAILURE

    def shutdown(self):
        pass


def hexadecimal(message):
    """Ids in hexadecimal, as OTLP has them, and not in base64, as protobuf has them."""
    for resource in message["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for key in ("traceId", "spanId", "parentSpanId"):
                    if key in span:
                        span[key] = base64.b64decode(span[key]).hex()


def exporter(kind, address):
    if kind == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter(endpoint=address, insecure=True, timeout=600)
    if kind == "http":
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter(endpoint=address + "/v1/traces", timeout=600)
    return JsonExporter(address + "/v1/traces")


class Counting(SpanExporter):
    """Counts what another exporter says it delivered."""

    def __init__(self, inner):
        self.inner, self.delivered, self.failed = inner, 0, 0

    def export(self, spans):
        result = self.inner.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.delivered += len(spans)
        else:
            self.failed += len(spans)
        return result

    def shutdown(self):
        self.inner.shutdown()


def main():
    kind, address, name, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    counting = Counting(exporter(kind, address))
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    # Room for what is made faster than it is sent: what the SDK itself drops is not the subject.
    queue = BatchSpanProcessor(counting, max_queue_size=count + 1, max_export_batch_size=512, schedule_delay_millis=100)
    provider.add_span_processor(queue)
    tracer = provider.get_tracer("e2e")
    for number in range(count):
        attributes = {
            "a2a.method.name": "GetTask",
            "a2a.task.id": f"{name}-{number}",
            "a2a.task.state": "TASK_STATE_WORKING",
            "server.address": name + ".example",
            "server.port": 443,
        }
        tracer.start_span("GetTask", kind=SpanKind.CLIENT, attributes=attributes).end()
    provider.force_flush(600_000)
    provider.shutdown()
    if counting.failed:
        raise SystemExit(f"{counting.failed} spans could not be exported")
    print(counting.delivered)


main()
