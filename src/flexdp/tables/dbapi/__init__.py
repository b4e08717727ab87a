"""DB-API 2 connections whose engine the caller names."""

__all__: list[str] = []
