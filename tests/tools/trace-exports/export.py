"""Prints spans of a captured run as trace stores and SDKs do, with the real exporters.

    export.py FOLDER_WITH_CAPTURES FOLDER_OF_FIXTURES

Takes some traces of tests/captures, rebuilds them as spans of OpenTelemetry's Python SDK and hands these to exporters:

    scenario.otlp.jsonl    the traces as they are, a request a line, times cut to the microseconds that others know
    python.console.json    ConsoleSpanExporter
    zipkin.json            the encoder of opentelemetry-exporter-zipkin-json, one list for each service
    jaeger.json            tags, logs and times of opentelemetry-exporter-jaeger-thrift's translator, put into the members
                           that Jaeger's interface gives them (its own server is no Python package)
    tempo.json             protobuf's JSON mapping of the OTLP messages, as Tempo marshals them, under `batches`

requirements.txt names the versions. console.mjs makes the one of JavaScript.
"""

import base64
import json
import sys
from collections import OrderedDict
from io import StringIO
from pathlib import Path

from google.protobuf import json_format
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk import environment_variables

# The exporter is older than the SDK, which has forgotten the names of its settings since. Only its translator is used.
for setting in ("AGENT_HOST", "AGENT_PORT", "AGENT_SPLIT_OVERSIZED_BATCHES", "ENDPOINT", "PASSWORD", "TIMEOUT", "USER"):
    setattr(environment_variables, f"OTEL_EXPORTER_JAEGER_{setting}", setting)

from opentelemetry.exporter.jaeger.thrift.translate import ThriftTranslator
from opentelemetry.exporter.zipkin.json.v2 import JsonV2Encoder
from opentelemetry.exporter.zipkin.node_endpoint import NodeEndpoint
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import ConsoleSpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

# What the rules find something in, and little else.
TRACES = {
    "synthetic-conventions/draft-semconv-195.traces.otlp.jsonl": [
        "8af80fe78aaccf5e2e561d089cac7f1e",
        "c773dad2676474e8646dee6f3aa2045f",
        "cf165e6a7d4790cb6c2184e2cdf1bfbd",
        "b7f28b3cca66eb5d7ac827917c6e9049",
        "36cd83c8e79d3372d08c3ea7537b09df",
    ],
    "a2a-python-1.3.0/headers.traces.otlp.jsonl": ["5b94503d8d4cee8cdc2c90970ad858a6"],
    "a2a-python-1.3.0/sdkonly.traces.otlp.jsonl": [
        "6a55bf8adc54e0b9e08075fa9603e787",
        "9e2e76106cf54a957243256a0ca4b6e0",
        "97cbb8492dcb1f77b5c1785a4ae64d87",
    ],
    "a2a-js-1.3.0/js.traces.otlp.jsonl": ["6b59a399812014c56d6f7b0e513a517a"],
}

KINDS = [SpanKind.INTERNAL, SpanKind.INTERNAL, SpanKind.SERVER, SpanKind.CLIENT, SpanKind.PRODUCER, SpanKind.CONSUMER]


def cut(nanos):
    return str(int(nanos) // 1000 * 1000)


def requests(captures):
    """One request a trace."""
    for file, wanted in TRACES.items():
        traces = OrderedDict((trace, OrderedDict()) for trace in wanted)
        for line in (captures / file).read_text().splitlines():
            for resource in json.loads(line)["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    for span in scope.get("spans", []):
                        if span["traceId"] not in traces:
                            continue
                        span["startTimeUnixNano"] = cut(span["startTimeUnixNano"])
                        span["endTimeUnixNano"] = cut(span["endTimeUnixNano"])
                        for event in span.get("events", []):
                            event["timeUnixNano"] = cut(event["timeUnixNano"])
                        span.pop("flags", None)
                        key = json.dumps([resource["resource"], scope["scope"]])
                        traces[span["traceId"]].setdefault(key, []).append(span)
        for groups in traces.values():
            spans = [(json.loads(key), spans) for key, spans in groups.items()]
            yield {
                "resourceSpans": [
                    {"resource": resource, "scopeSpans": [{"scope": scope, "spans": of_scope}]}
                    for (resource, scope), of_scope in spans
                ]
            }


def value(any_value):
    (kind, inner), = any_value.items()
    if kind == "intValue":
        return int(inner)
    if kind == "arrayValue":
        return tuple(value(item) for item in inner.get("values", []))
    return inner


def attributes(pairs):
    return BoundedAttributes(attributes={pair["key"]: value(pair["value"]) for pair in pairs or []})


def context(trace, span):
    return SpanContext(int(trace, 16), int(span, 16), is_remote=False, trace_flags=TraceFlags(1))


def rebuilt(request):
    """The SDK's spans of a request."""
    for resource in request["resourceSpans"]:
        of = Resource(attributes(resource["resource"].get("attributes")))
        for scope in resource["scopeSpans"]:
            name = InstrumentationScope(scope["scope"].get("name", ""), scope["scope"].get("version", ""))
            for span in scope["spans"]:
                status = span.get("status", {})
                parent = span.get("parentSpanId")
                yield ReadableSpan(
                    name=span["name"],
                    context=context(span["traceId"], span["spanId"]),
                    parent=context(span["traceId"], parent) if parent else None,
                    resource=of,
                    attributes=attributes(span.get("attributes")),
                    events=[
                        Event(event["name"], attributes(event.get("attributes")), int(event["timeUnixNano"]))
                        for event in span.get("events", [])
                    ],
                    kind=KINDS[span.get("kind", 0)],
                    instrumentation_scope=name,
                    status=Status(StatusCode(status.get("code", 0)), status.get("message")),
                    start_time=int(span["startTimeUnixNano"]),
                    end_time=int(span["endTimeUnixNano"]),
                )


def service(span):
    return span.resource.attributes.get("service.name", "")


def console(spans):
    out = StringIO()
    ConsoleSpanExporter(out=out).export(spans)
    return out.getvalue()


def zipkin(spans):
    lists = OrderedDict()
    for span in spans:
        lists.setdefault(service(span), []).append(span)
    encode = JsonV2Encoder()
    return "".join(encode.serialize(of, NodeEndpointOf(name)) + "\n" for name, of in lists.items())


class NodeEndpointOf(NodeEndpoint):
    """The endpoint of a service; the exporter takes its name from the spans' resource."""

    def __init__(self, name):
        super().__init__()
        self.service_name = name


TAG_TYPES = {0: ("string", "vStr"), 1: ("float64", "vDouble"), 2: ("bool", "vBool"), 3: ("int64", "vLong")}


def jaeger_tag(tag):
    kind, member = TAG_TYPES[tag.vType]
    return {"key": tag.key, "type": kind, "value": getattr(tag, member)}


def unsigned(number):
    return number & 0xFFFFFFFFFFFFFFFF


def jaeger(spans):
    """Answers of `/api/traces`: a process for each resource of a trace."""
    traces = OrderedDict()
    for span in spans:
        traces.setdefault(f"{span.context.trace_id:032x}", []).append(span)
    translator = ThriftTranslator()
    data = []
    for trace_id, of_trace in traces.items():
        processes, members = OrderedDict(), []
        for span in of_trace:
            said = translator._translate_span(span)
            resource = dict(span.resource.attributes)
            key = json.dumps(resource, sort_keys=True)
            process = processes.setdefault(key, (f"p{len(processes) + 1}", resource))[0]
            parent = unsigned(said.parentSpanId)
            references = []
            if parent:
                references.append({"refType": "CHILD_OF", "traceID": trace_id, "spanID": f"{parent:016x}"})
            members.append(
                {
                    "traceID": trace_id,
                    "spanID": f"{unsigned(said.spanId):016x}",
                    "operationName": said.operationName,
                    "references": references,
                    "startTime": said.startTime,
                    "duration": said.duration,
                    "tags": [jaeger_tag(tag) for tag in said.tags],
                    "logs": [
                        {"timestamp": log.timestamp, "fields": [jaeger_tag(field) for field in log.fields]}
                        for log in said.logs or []
                    ],
                    "processID": process,
                    "warnings": None,
                }
            )
        data.append(
            {
                "traceID": trace_id,
                "spans": members,
                "processes": {
                    name: {
                        "serviceName": resource.get("service.name", ""),
                        "tags": [
                            {"key": key, "type": "string", "value": str(of)}
                            for key, of in resource.items()
                            if key != "service.name"
                        ],
                    }
                    for name, resource in processes.values()
                },
                "warnings": None,
            }
        )
    return json.dumps({"data": data, "total": 0, "limit": 0, "offset": 0, "errors": None}) + "\n"


def tempo(requests):
    """Answers of `/api/traces/{id}`, one a line."""

    def with_bytes(node):
        if isinstance(node, dict):
            return {
                key: base64.b64encode(bytes.fromhex(of)).decode()
                if key in ("traceId", "spanId", "parentSpanId")
                else with_bytes(of)
                for key, of in node.items()
            }
        return [with_bytes(item) for item in node] if isinstance(node, list) else node

    lines = []
    for request in requests:
        message = json_format.ParseDict(with_bytes(request), TracesData())
        batches = json_format.MessageToDict(message)["resourceSpans"]
        lines.append(json.dumps({"batches": batches}) + "\n")
    return "".join(lines)


def main(captures, fixtures):
    fixtures.mkdir(parents=True, exist_ok=True)
    scenario = list(requests(captures))
    spans = [span for request in scenario for span in rebuilt(request)]
    for name, text in [
        ("scenario.otlp.jsonl", "".join(json.dumps(request) + "\n" for request in scenario)),
        ("python.console.json", console(spans)),
        ("zipkin.json", zipkin(spans)),
        ("jaeger.json", jaeger(spans)),
        ("tempo.json", tempo(scenario)),
    ]:
        (fixtures / name).write_text(text)
        print(f"{name}: {len(text)} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
