"""What building the compiled core takes."""
