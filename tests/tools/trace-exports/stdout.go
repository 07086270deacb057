// Prints the spans of scenario.otlp.jsonl (made by export.py) with Go's stdouttrace, of Debian's golang-opentelemetry-otel-dev.
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go run stdout.go ../../formats/traces/scenario.otlp.jsonl > ../../formats/traces/go.stdout.json
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

type anyValue struct {
	StringValue *string
	BoolValue   *bool
	IntValue    json.RawMessage // a number, or a text of one
	DoubleValue *float64
	ArrayValue  *struct{ Values []anyValue }
}

type pair struct {
	Key   string
	Value anyValue
}

type request struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []pair }
		ScopeSpans []struct {
			Scope struct{ Name, Version string }
			Spans []struct {
				TraceID, SpanID, ParentSpanID, Name string
				Kind                                int
				StartTimeUnixNano, EndTimeUnixNano  string
				Attributes                          []pair
				Status                              struct {
					Code    int
					Message string
				}
				Events []struct {
					TimeUnixNano, Name string
					Attributes         []pair
				}
			}
		}
	}
}

func attributes(pairs []pair) []attribute.KeyValue {
	var all []attribute.KeyValue
	for _, p := range pairs {
		switch v := p.Value; {
		case v.StringValue != nil:
			all = append(all, attribute.String(p.Key, *v.StringValue))
		case v.BoolValue != nil:
			all = append(all, attribute.Bool(p.Key, *v.BoolValue))
		case v.IntValue != nil:
			number, _ := strconv.ParseInt(strings.Trim(string(v.IntValue), `"`), 10, 64)
			all = append(all, attribute.Int64(p.Key, number))
		case v.DoubleValue != nil:
			all = append(all, attribute.Float64(p.Key, *v.DoubleValue))
		case v.ArrayValue != nil:
			var texts []string
			for _, each := range v.ArrayValue.Values {
				texts = append(texts, *each.StringValue)
			}
			all = append(all, attribute.StringSlice(p.Key, texts))
		}
	}
	return all
}

func at(nanos string) time.Time {
	number, _ := strconv.ParseInt(nanos, 10, 64)
	return time.Unix(0, number).UTC()
}

func spanContext(traceID, spanID string) trace.SpanContext {
	id, _ := trace.TraceIDFromHex(traceID)
	span, _ := trace.SpanIDFromHex(spanID)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: trace.FlagsSampled})
}

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	exporter, err := stdouttrace.New()
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var in request
		if err := json.Unmarshal(lines.Bytes(), &in); err != nil {
			panic(err)
		}
		var stubs tracetest.SpanStubs
		for _, of := range in.ResourceSpans {
			res := resource.NewSchemaless(attributes(of.Resource.Attributes)...)
			for _, scope := range of.ScopeSpans {
				for _, span := range scope.Spans {
					stub := tracetest.SpanStub{
						Name:                   span.Name,
						SpanContext:            spanContext(span.TraceID, span.SpanID),
						SpanKind:               trace.SpanKind(span.Kind),
						StartTime:              at(span.StartTimeUnixNano),
						EndTime:                at(span.EndTimeUnixNano),
						Attributes:             attributes(span.Attributes),
						Resource:               res,
						InstrumentationLibrary: instrumentation.Library{Name: scope.Scope.Name, Version: scope.Scope.Version},
						Status: sdk.Status{
							Code:        map[int]codes.Code{0: codes.Unset, 1: codes.Ok, 2: codes.Error}[span.Status.Code],
							Description: span.Status.Message,
						},
					}
					if span.ParentSpanID != "" {
						stub.Parent = spanContext(span.TraceID, span.ParentSpanID)
					}
					for _, event := range span.Events {
						stub.Events = append(stub.Events, sdk.Event{
							Name: event.Name, Attributes: attributes(event.Attributes), Time: at(event.TimeUnixNano),
						})
					}
					stubs = append(stubs, stub)
				}
			}
		}
		if err := exporter.ExportSpans(context.Background(), stubs.Snapshots()); err != nil {
			panic(err)
		}
	}
}
