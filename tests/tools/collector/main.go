// The OpenTelemetry Collector that tests send through: the parts that Debian packages, and no others.
//
// Built by ../fetch/fetch. Speaks OTLP in and out, batches, bounds its memory, prints; reads its configuration from files,
// the environment and the command line.
package main

import (
	"fmt"
	"os"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/debugexporter"
	"go.opentelemetry.io/collector/exporter/otlpexporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/batchprocessor"
	"go.opentelemetry.io/collector/processor/memorylimiterprocessor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// byType keys factories of one kind by the name under which a configuration asks for them.
func byType[F component.Factory](factories ...F) map[component.Type]F {
	named := make(map[component.Type]F, len(factories))
	for _, factory := range factories {
		named[factory.Type()] = factory
	}
	return named
}

func parts() (otelcol.Factories, error) {
	return otelcol.Factories{
		Receivers:  byType[receiver.Factory](otlpreceiver.NewFactory()),
		Processors: byType[processor.Factory](batchprocessor.NewFactory(), memorylimiterprocessor.NewFactory()),
		Exporters: byType[exporter.Factory](
			debugexporter.NewFactory(), otlpexporter.NewFactory(), otlphttpexporter.NewFactory()),
		Telemetry: otelconftelemetry.NewFactory(),
	}, nil
}

func main() {
	settings := otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{
			Command: "otelcol", Description: "OpenTelemetry Collector for tests", Version: "debian"},
		Factories: parts,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{
			ResolverSettings: confmap.ResolverSettings{
				DefaultScheme: "env",
				ProviderFactories: []confmap.ProviderFactory{
					fileprovider.NewFactory(), envprovider.NewFactory(), yamlprovider.NewFactory()},
			},
		},
	}
	if err := otelcol.NewCommand(settings).Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
