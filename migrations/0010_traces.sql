-- The W3C traceparent of the payment's trace, written only while traces are exported (OTEL_EXPORTER_OTLP_ENDPOINT).
alter table payments add column trace text;
