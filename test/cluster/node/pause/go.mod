module agent-sandbox/test/cluster/node/pause

go 1.26.0
