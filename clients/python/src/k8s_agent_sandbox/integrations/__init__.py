"""Tools for agent frameworks. Each module needs the extra of its framework, for example ``k8s-agent-sandbox[langchain]``."""
