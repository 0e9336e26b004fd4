"""People who judge through the JSON of the page."""


class Person:
    """Someone who judges."""

    def __init__(self, client, name, resume=False):
        self.client = client
        answer = client.post("/api/session", json={"name": name, "resume": resume}).json()
        self.headers = {"X-Review-Session": answer["session"]}

    def get(self, path):
        return self.client.get(f"/api/{path}", headers=self.headers)

    def view(self, number=1):
        return self.get(f"queries/{number}").json()

    def documents(self, number=1):
        """Return the documents of a query in the order of the columns."""
        columns = self.view(number)["columns"]
        return list(dict.fromkeys(one for column in columns for one in column["results"]))

    def post(self, path, **body):
        return self.client.post(f"/api/{path}", json=body, headers=self.headers)

    def say(self, path, **body):
        """Return the document that the page gets."""
        return self.post(path, **body).json()
