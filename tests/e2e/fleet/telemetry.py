"""OpenTelemetry of a process of the fleet, as an operator would set it up: the SDK's exporters, to the Collector."""

from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber, set_logger_provider
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

# As quick as a test wants to be; an operator would keep the default of 5 s.
DELAY_MS = 300


class Telemetry:
    """Traces and logs of one service."""

    def __init__(self, service, plan, over_grpc):
        if over_grpc:
            from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
            from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

            spans = OTLPSpanExporter(endpoint=plan["collector_grpc"], insecure=True)
            logs = OTLPLogExporter(endpoint=plan["collector_grpc"], insecure=True)
        else:
            from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

            spans = OTLPSpanExporter(endpoint=plan["collector_http"] + "/v1/traces")
            logs = OTLPLogExporter(endpoint=plan["collector_http"] + "/v1/logs")
        resource = Resource.create({"service.name": service, "service.version": "1.0.0"})
        self.tracers = TracerProvider(resource=resource)
        self.tracers.add_span_processor(BatchSpanProcessor(spans, schedule_delay_millis=DELAY_MS))
        trace.set_tracer_provider(self.tracers)
        self.loggers = LoggerProvider(resource=resource)
        self.loggers.add_log_record_processor(BatchLogRecordProcessor(logs, schedule_delay_millis=DELAY_MS))
        set_logger_provider(self.loggers)
        HTTPXClientInstrumentor().instrument()

    def event(self, name, attributes):
        """One of a2a-drift's own events, as a log record."""
        record = LogRecord(event_name=name, severity_number=SeverityNumber.INFO, attributes=attributes)
        self.loggers.get_logger("fleet").emit(record)

    def flush(self):
        self.tracers.force_flush(5000)
        self.loggers.force_flush(5000)
