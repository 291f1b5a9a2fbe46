"""OpenTelemetry, for servers whose installation has it and whose environment asks for it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from omnigraph.base.traces import trace_parent
from omnigraph.errors import MissingPackage
from omnigraph.server.calls import Call
from omnigraph.server.failures import translate
from omnigraph.server.replies import Reply

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    Handler = Callable[[Call], Awaitable[Reply]]


class Tracer:
    """Makes a span of every request, as a child of the one that the client names."""

    def __init__(self, environ: Mapping[str, str], exporter: "SpanExporter | None" = None) -> None:
        """Take where spans go to; without, it is what the variables of OpenTelemetry name."""
        try:
            from opentelemetry import propagate, trace
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as missing:
            raise MissingPackage(
                "OTEL_EXPORTER_OTLP_ENDPOINT asks for traces, which need packages that are not installed: "
                "pip install 'omnigraph[otel]'.",
                package="opentelemetry-sdk",
                extra="otel",
            ) from missing
        name = environ.get("OTEL_SERVICE_NAME", "").strip() or "omnigraph-server"
        self._provider = TracerProvider(resource=Resource.create({"service.name": name}))
        self._provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("omnigraph.server")
        self._extract: Any = propagate.extract
        self._server_kind = trace.SpanKind.SERVER
        self._failed = trace.Status(trace.StatusCode.ERROR)

    async def traced(self, call: Call, handler: "Handler") -> Reply:
        """Answer a request inside of a span; it says what the access line says, and no values."""
        route = call.route
        parent = self._extract({"traceparent": (call.header(b"traceparent") or b"").decode("latin-1")})
        # Not with the exception itself: its text may hold what somebody asked for.
        with self._tracer.start_as_current_span(
            route.operation_id or route.path if route is not None else "request",
            context=parent,
            kind=self._server_kind,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            here = span.get_span_context()
            trace_parent.set(f"00-{here.trace_id:032x}-{here.span_id:016x}-{here.trace_flags:02x}")
            if route is not None:
                span.set_attribute("http.route", route.path)
                span.set_attribute("http.request.method", route.method)
            if call.served is not None:
                span.set_attribute("omnigraph.graph_id", call.served.graph_id)
            span.set_attribute("omnigraph.request_id", call.request_id)
            try:
                reply = await handler(call)
            except Exception as failure:
                error = translate(failure)
                status = error.http_status or 500
                span.set_attribute("http.response.status_code", status)
                span.set_attribute("error.type", error.kind)
                if status >= 500:
                    span.set_status(self._failed)
                raise
            span.set_attribute("http.response.status_code", reply.status)
            return reply

    def close(self) -> None:
        """Send what is waiting."""
        self._provider.shutdown()


def tracer_of(environ: Mapping[str, str]) -> Tracer | None:
    """Return a tracer if the environment names a place for traces."""
    wanted = environ.get("OTEL_EXPORTER_OTLP_ENDPOINT") or environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    return Tracer(environ) if wanted else None
