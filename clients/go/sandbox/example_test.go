package sandbox_test

import (
	"context"
	"fmt"
	"log"

	"github.com/agent-sandbox/agent-sandbox/clients/go/sandbox"
)

// Output: Hello
func ExampleConnect() {
	ctx := context.Background()
	client, err := sandbox.Connect(ctx, sandbox.Options{})
	if err != nil {
		log.Fatal(err)
	}
	box, err := client.Create(ctx, sandbox.CreateOptions{Image: "host"})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Close(ctx) // deletes the sandbox
	result, err := box.Commands().Run(ctx, "echo Hello")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(result.Stdout)
}

// Output: 30
func ExampleSandbox_RunCode() {
	ctx := context.Background()
	client, err := sandbox.Connect(ctx, sandbox.Options{})
	if err != nil {
		log.Fatal(err)
	}
	box, err := client.Create(ctx, sandbox.CreateOptions{Image: "host"})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Close(ctx)
	if _, err := box.RunCode(ctx, "squares = [n * n for n in range(5)]"); err != nil {
		log.Fatal(err)
	}
	result, err := box.RunCode(ctx, "sum(squares)")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text)
}

// Output: buy milk 1 8
func ExampleFiles() {
	ctx := context.Background()
	client, err := sandbox.Connect(ctx, sandbox.Options{})
	if err != nil {
		log.Fatal(err)
	}
	box, err := client.Create(ctx, sandbox.CreateOptions{Image: "host"})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Close(ctx)
	if err := box.Files().Write(ctx, "notes/today.txt", []byte("buy milk")); err != nil {
		log.Fatal(err)
	}
	content, err := box.Files().Read(ctx, "notes/today.txt")
	if err != nil {
		log.Fatal(err)
	}
	entries, err := box.Files().List(ctx, "notes")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(content), len(entries), entries[0].Size)
}

// Output: true
func ExampleIsReason() {
	ctx := context.Background()
	client, err := sandbox.Connect(ctx, sandbox.Options{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Get(ctx, "nothing")
	fmt.Println(sandbox.IsReason(err, sandbox.NotFound))
}
