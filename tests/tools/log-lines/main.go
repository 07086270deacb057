// Prints what a2a-go logs, through the handlers of Go's own log/slog: its text handler, its JSON handler, and its default.
//
//	go run main.go text|json|default > ../../formats/logs/go-slog.HANDLER.log
//
// The calls are those of a2asrv/push/sender.go, a2asrv/agentexec.go, a2asrv/logging.go and a2aclient/logging.go of a2a-go 2,
// with the logger that a2asrv/intercepted_handler.go puts into a request's context. The SDK itself is not needed.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"
)

func main() {
	started := time.Date(2026, 11, 30, 9, 31, 53, 311_000_000, time.UTC)
	step := 0
	clock := func(_ []string, attr slog.Attr) slog.Attr {
		if attr.Key == slog.TimeKey {
			step++
			attr.Value = slog.TimeValue(started.Add(time.Duration(step) * time.Second))
		}
		return attr
	}
	options := &slog.HandlerOptions{ReplaceAttr: clock, Level: slog.LevelDebug}
	logger := slog.Default()
	switch os.Args[1] {
	case "text":
		logger = slog.New(slog.NewTextHandler(os.Stdout, options))
	case "json":
		logger = slog.New(slog.NewJSONHandler(os.Stdout, options))
	}
	server := logger.WithGroup("a2a").With(
		slog.String("message_id", "9bb8bf0f-60a1-4b41-b4b9-f83ce0999cb2"),
		slog.String("task_id", "30edcf55-817e-4ccb-bd01-39b838e75625"),
		slog.String("context_id", "28707ab2-ee08-4f5f-ba05-ab6b4df1abb0"),
		slog.String("request_id", "5c1f0a0e-8a36-4c9b-9a44-0a3c1d2f7e55"),
	)
	ctx := context.Background()
	server.InfoContext(ctx, "a2a call started", "method", "SendMessage")
	server.InfoContext(ctx, "a2a call finished", "method", "SendMessage", "duration_ns", 2500*time.Microsecond)
	server.WarnContext(ctx, "a2a call failed", "method", "CancelTask", "duration_ns", 150*time.Microsecond,
		"error", "task cannot be canceled: task in non-cancelable state TASK_STATE_COMPLETED")
	server.ErrorContext(ctx, "push sending failed",
		"error", errors.New("push notification endpoint returned non-success status: 401 Unauthorized"))
	server.WarnContext(ctx, "task moved to failed state due to an error", "cause", errors.New("model backend unavailable"))
	client := logger
	client.InfoContext(ctx, "a2a call started", "method", "SendMessage", "request_id", "f0", "url", "http://127.0.0.1:41001/")
	client.WarnContext(ctx, "a2a call failed", "method", "SendMessage", "url", "http://127.0.0.1:41001/",
		"duration_ns", 30*time.Millisecond, "request_id", "f0", "error", "task not found: no such task \"x=1\"")
	logger.InfoContext(ctx, "listening", "addr", ":8080", "a2a", true)
}
